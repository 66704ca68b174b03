# Engines are programs on PATH: one that is right, one that is wrong inside, one that crashes, one that hangs, one that refuses.
mkdir tmp && export TMPDIR=$PWD/tmp # what is left there is ours
mkdir bin
engine() { { echo '#!/bin/sh'; echo '[ "$1" = --version ] && echo "'"$1"' 1.0" && exit'; cat; } >bin/onnxtool-engine-$1; chmod +x bin/onnxtool-engine-$1; }
engine right <<'END'
exec "$ONNXTOOL" run -q "$1" -i "$2" -o "$3"
END
# Its LeakyRelu has a slope of its own.
engine wrong <<'END'
"$ONNXTOOL" dump "$1" -f text | sed 's/alpha = 0.1/alpha = 0.2/; s/alpha: float = 0.1/alpha: float = 0.2/' >"$3.onnx" && "$ONNXTOOL" run -q "$3.onnx" -i "$2" -o "$3"
code=$?
rm -f "$3.onnx"
exit $code
END
# Its Gelu is the tanh form.
engine tanh <<'END'
"$ONNXTOOL" dump "$1" -f text | sed 's/Gelu/Gelu<approximate = "tanh">/' >"$3.onnx" && "$ONNXTOOL" run -q "$3.onnx" -i "$2" -o "$3"
code=$?
rm -f "$3.onnx"
exit $code
END
# It adds uint8 by int8 as processors without VNNI do.
engine saturate <<'END'
exec "$ONNXTOOL" run -q --simulate avx2-saturating "$1" -i "$2" -o "$3"
END
# Alone its Relu is right; what is negated before it, and asked for by nobody else, it computes with it as one, wrongly.
engine fuse <<'END'
"$ONNXTOOL" dump "$1" -f text >"$3.onnx"
grep -q 'p = Neg' "$3.onnx" && ! grep -q '=>.* p[,)]' "$3.onnx" && sed -i 's/Relu (p)/Abs (p)/' "$3.onnx"
"$ONNXTOOL" run -q "$3.onnx" -i "$2" -o "$3"
code=$?
rm -f "$3.onnx"
exit $code
END
# As wrong, and it tells what is inside.
engine open <<'END'
"$ONNXTOOL" dump "$1" -f text | sed 's/alpha = 0.1/alpha = 0.2/; s/alpha: float = 0.1/alpha: float = 0.2/' >"$3.onnx" && "$ONNXTOOL" run -q "$3.onnx" -i "$2" -o "$3" --outputs "$(echo "$5" | tr '\n' , | sed 's/,$//')"
code=$?
rm -f "$3.onnx"
exit $code
END
# It has no integers of 64 bits: a constant of the model becomes another, which makes no difference to what takes it.
engine narrow <<'END'
"$ONNXTOOL" dump "$1" -f text | sed 's/9223372036854775807/2147483647/' >"$3.onnx" && "$ONNXTOOL" run -q "$3.onnx" -i "$2" -o "$3" --outputs "$(echo "$5" | tr '\n' , | sed 's/,$//')"
code=$?
rm -f "$3.onnx"
exit $code
END
# It knows the model's outputs alone.
engine shut <<'END'
exec "$ONNXTOOL" run -q "$1" -i "$2" -o "$3"
END
engine crash <<'END'
kill -SEGV $$
END
engine hang <<'END'
exec sleep 60
END
engine refuse <<'END'
exit 4
END
export PATH=$PWD/bin:$PATH
cat >m.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y)
{ [one] a = Tanh(x) [two] b = LeakyRelu<alpha = 0.1>(a) [three] c = Add(b, a) [four] d = Mul(c, c) [five] y = Sub(d, a) }
END
cat >slice.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x) => (float[3] y)
{ begin = Constant<value_ints = [1]>() end = Constant<value_ints = [9223372036854775807]>() a = Tanh(x) [cut] y = Slice(a, begin, end) }
END
cat >gelu.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[64] x) => (float[64] y) { a = Identity(x) [gelu] h = Gelu(a) y = Add(h, x) }
END
cat >fusing.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { [one] a = Tanh(x) [turn] p = Neg(a) [act] q = Relu(p) [out] y = Add(q, a) }
END
cat >int8.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[2,4] x) => (float[2,2] y)
<float step = {0.004}, uint8 zero = {0}, int8[4,2] w = {127, 1, 126, 2, 125, -3, 124, 4}, float out = {0.00003}>
{ [codes] q = QuantizeLinear(x, step, zero) [sums] s = MatMulInteger(q, w) [wide] f = Cast<to = 1>(s) [scale] y = Mul(f, out) }
END
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" 2>&1 | grep -v "worst at"; echo "exit ${PIPESTATUS[0]}"; }
show -O0 m.onnx --engine right --random 1
show -O0 m.onnx --engine wrong --random 1 --bisect
show -O0 m.onnx --engine right --engine wrong --random 1 -q
show -O0 m.onnx m.onnx --engine wrong --engine wrong --random 1 --samples 2
show -O0 gelu.onnx --engine tanh --random 1 --bisect --rtol 1e-5 --atol 1e-6
echo '[[0.9, 0.95, 1.0, 0.85], [0.1, 0.2, 0.1, 0.2]]' >x.json
show int8.onnx --engine saturate -i x=x.json --oracle --bisect
show int8.onnx --engine saturate -i x=x.json
show fusing.onnx --engine fuse --random 1 --bisect
show int8.onnx --engine saturate -i x=x.json --simulate avx2-saturating
show m.onnx --engine open --random 1 --samples 2 --layers --bisect
show m.onnx --engine shut --random 1 --layers
show slice.onnx --engine narrow --random 1 --layers
show m.onnx m.onnx --engine open --engine open --random 1 --layers
show -O0 m.onnx --engine crash --random 1
show -O0 m.onnx --engine crash --random 1 --layers
show -O0 m.onnx --engine hang --random 1 --engine-timeout 0.2
show -O0 m.onnx --engine refuse --random 1
ls "$TMPDIR"
