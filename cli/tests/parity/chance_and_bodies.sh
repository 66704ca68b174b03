# What draws random numbers is said to, whoever calls it, and nothing else is; what differs inside a loop is named there.
mkdir bin
# Right, but its dice fall otherwise.
printf '#!/bin/sh\n[ "$1" = --version ] && echo "dice 1.0" && exit\nexec "$ONNXTOOL" run -q --random 77 "$1" -i "$2" -o "$3"\n' >bin/onnxtool-engine-dice
chmod +x bin/onnxtool-engine-dice
export PATH=$PWD/bin:$PATH
model() { printf '<ir_version: 10, opset_import: ["" : 17, "me" : 1]>\n%s\n' "$2" >"$1.onnx"; }
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^output/,$p'; }

echo "== random numbers are other ones in every engine, and no products that saturate"
model noise 'g (float[4] x) => (float[4] y) { r = RandomNormalLike(x) y = Add(x, r) }'
show noise.onnx --engine dice --random 1 --oracle
model drop 'g (float[64] x) => (float[64] y) <bool train = {1}, float half = {0.5}> { y = Dropout(x, half, train) }'
show drop.onnx --engine dice --random 1
sed 's/"me" : 1/"com.microsoft" : 1/; s/= Dropout(x, half/= com.microsoft.BiasDropout(x, none, , half/; s/float half/float[64] none = {'$(printf '0,%.0s' {1..63})'0}, float half/' drop.onnx >bias.onnx
show bias.onnx --engine dice --random 1
echo "== before opset 7 Dropout drops unless is_test is 1"
for quiet in 0 1; do
    printf '<ir_version: 3, opset_import: ["" : 6]>\ng (float[64] x) => (float[64] y) { a = Tanh(x) b = Dropout<ratio = 0.5, is_test = %s>(a) y = Neg(b) }\n' $quiet >old$quiet.onnx
done
show old0.onnx --engine dice --random 1
show old0.onnx old1.onnx --random 1
echo "== in a function that a function calls"
model noisy 'g (float[4] x) => (float[4] y) { a = Neg(x) y = me.noisy(a) }
<domain: "me", opset_import: ["" : 17, "me" : 1]> noisy (x) => (y) { y = me.inner(x) }
<domain: "me", opset_import: ["" : 17]> inner (x) => (y) { r = RandomUniformLike(x) y = Mul(r, x) }'
show noisy.onnx --engine dice --random 1

body() { # FILE OPERATOR FACTOR TRIPS
    model $1 "g (float[4] x) => (float[4] y, float[K,4] all) <int64 n = {$4}, bool c = {1}> { y, all = Loop<body = b (int64 i, bool ci, float[4] s) =>
(bool co, float[4] t, float[4] u) { co = Identity(ci) h = Constant<value = float {$3}>() t = Mul(s, h) u = $2(t) }>(n, c, x) }"
}
echo "== an operator in a loop"
body tanh Tanh 0.5 5 && body sigmoid Sigmoid 0.5 5
show tanh.onnx sigmoid.onnx --random 1
echo "== a constant in a loop"
body slower Tanh 0.6 5
show tanh.onnx slower.onnx --random 1
echo "== a node more in a branch, and random numbers in the other"
for more in "" "Neg"; do
    model branch$more "g (float[4] x) => (float[4] y) { z = Constant<value_float = 0.0>() s = ReduceSum<keepdims = 0>(x) c = Less(s, z) y = If<then_branch = t () =>
(float[4] p) { p = RandomNormalLike(x) }, else_branch = e () => (float[4] q) { w = Tanh(x) v = ${more:-Identity}(w) $([ $more ] && echo "a = Abs(v) q = Exp(a)" || echo "q = Exp(v)") }>(c) }"
done
echo '[1, 2, -0.5, 3]' >x.json
show branch.onnx branchNeg.onnx -i x.json

echo "== parts of a model import what their functions use"
"$ONNXTOOL" dump noisy.onnx --extract a:y -o tail.onnx && "$ONNXTOOL" dump tail.onnx -f text | head -4
echo "== what continuous integration shows"
"$ONNXTOOL" parity drop.onnx --engine dice --random 1 --bisect --oracle -f junit 2>/dev/null
echo "exit $?"
