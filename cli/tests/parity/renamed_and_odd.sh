# Outputs under other names, and values that have no numbers to compare.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" 2>&1; echo "exit $?"; }

cat >m.onnx <<'E'
<ir_version: 10, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2,3] y, float[2] z) <int64[1] ax = {1}> { a = Relu(x) y = Exp(a) z = ReduceSum<keepdims=0>(a, ax) }
E
sed 's/ y\b/ other/g' m.onnx >renamed.onnx
show m.onnx renamed.onnx --random 1
show m.onnx renamed.onnx --random 1 --pair y=other --oracle
show m.onnx renamed.onnx --random 1 --pair nosuch=other
show m.onnx renamed.onnx --random 1 --tol other=1,1
"$ONNXTOOL" run -q renamed.onnx --random 1 -o expected.npz
show m.onnx --expected expected.npz --random 1 --pair y=other

cat >odd.onnx <<'E'
<ir_version: 10, opset_import: ["" : 17]>
g (float x, float[0,3] e, string[2] s, float[2] n) => (float y, float[0,3] f, string[2] t, seq(float[2]) q, optional(float[2]) o, float[2] m)
{ y = Exp(x) f = Neg(e) t = Identity(s) q = SequenceConstruct(n, n) o = Optional(n) m = Log(n) }
E
printf '[-1, 0]' >n.json; printf '["a", "b"]' >s.json; printf '1' >x.json
inputs=(-i n=n.json -i s=s.json -i x=x.json --random 1)
show odd.onnx -O0 -O2 "${inputs[@]}"
show odd.onnx -O0 -O2 "${inputs[@]}" --equal-nan --oracle --metric
sed 's/t = Identity(s)/t = Identity(k)/; s/^{/<string[2] k = {"a", "c"}> {/' odd.onnx >constant.onnx
"$ONNXTOOL" parity odd.onnx constant.onnx "${inputs[@]}" --equal-nan --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'
sed 's/"c"/"d"/' constant.onnx >string.onnx
"$ONNXTOOL" parity string.onnx constant.onnx "${inputs[@]}" --equal-nan --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'
