# Another export of a model: no name is the same, and one node is not what it should be. Its neighbours tell which it is.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'; }
model() { printf '<ir_version: 10, opset_import: ["" : 23]>\n%s\n' "$2" >"$1.onnx"; }
numbers() { for ((n = 0; n < $1; n++)); do v=$((((n + $2) * 7919 + 104729) % 2003 - 1001)); printf '%s%s0.%03d' "$([ $n -gt 0 ] && echo ,)" "$([ $v -lt 0 ] && echo -)" "${v#-}"; done; }
w="float[8,8] w = {$(numbers 64 0)}, float[8] b = {$(numbers 8 90)}"

echo "== an operator in the middle of a Gelu"
for op in Erf Tanh; do
    model $op "g (float[2,8] x) => (float[2,8] y) <$w, float two = {1.41421356}, float one = {1}, float half = {0.5}>
{ [${op}1] ${op}a = MatMul(x, w) [${op}2] ${op}b = Div(${op}a, two) [${op}3] ${op}c = $op(${op}b) [${op}4] ${op}d = Add(${op}c, one)
  [${op}5] ${op}e = Mul(${op}a, ${op}d) [${op}6] ${op}f = Mul(${op}e, half) [${op}7] y = MatMul(${op}f, w) }"
done
show Tanh.onnx Erf.onnx --random 1

echo "== weights of a product before its bias"
for at in 0 500; do
    model bias$at "g (float[2,8] x) => (float[2,8] y) <$w, float[8,8] v$at = {$(numbers 64 $at)}>
{ [p$at] p$at = MatMul(x, w) [q$at] q$at = MatMul(p$at, v$at) [r$at] r$at = Add(q$at, b) [s$at] s$at = Tanh(r$at) [t] y = MatMul(s$at, w) }"
done
show bias500.onnx bias0.onnx --random 1

echo "== a value that departs though its shape agrees"
for at in 0 500; do
    model shape$at "g (float[2,8] x) => (float[2,2,4] y) <$w, float[8,8] v$at = {$(numbers 64 $at)}, int64[2] split = {2, 4}, int64[1] from = {0}, int64[1] to = {1}>
{ [p$at] p$at = MatMul(x, v$at) [q$at] q$at = Shape(p$at) [r$at] r$at = Slice(q$at, from, to) [s$at] s$at = Concat<axis = 0>(r$at, split)
  [t$at] t$at = Reshape(p$at, s$at) [u] y = Neg(t$at) }"
done
show shape500.onnx shape0.onnx --random 1

echo "== batch statistics on both sides are no difference"
for at in 0 500; do
    model norm$at "g (float[4,8] x) => (float[4,8] y) <$w, float[8] m = {$(numbers 8 3)}, float[8] v = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] s$at = {$(numbers 8 $at)}>
{ [a$at] a$at = MatMul(x, w) [n$at] n$at, rm$at, rv$at = BatchNormalization<training_mode = 1>(a$at, s$at, b, m, v) [u] y = Neg(n$at) }"
done
show norm500.onnx norm0.onnx --random 1

echo "== an axis that makes another shape, with which the model goes on or can't"
for at in 1 2; do
    model concat$at "g (float[1,2,2] x) => (float[N,M] y) { [a$at] a$at = Tanh(x) [b$at] b$at = Concat<axis = $at>(a$at, x) [c$at] c$at = Flatten(b$at) [u] y = Neg(c$at) }"
    model reduce$at "g (float[1,8,4] x) => (float[1,N] y) <float[4] k = {1, 2, 3, 4}> { [a$at] a$at = Tanh(x) [b$at] b$at = ReduceMean<keepdims = 0>(a$at, ax$at) [u] y = Mul(b$at, k) }"
    sed "s/<float\[4\] k/<int64[1] ax$at = {$at}, float[4] k/" reduce$at.onnx >axes$at.onnx
done
show concat2.onnx concat1.onnx --random 1
"$ONNXTOOL" parity axes2.onnx axes1.onnx --bisect --random 1 2>&1

echo "== queries and keys have each other's weights, but not biases"
for at in q k; do
    wq=vq wk=vk
    [ $at = k ] && wq=vk wk=vq
    model attend$at "g (float[1,4,8] x) => (float[1,4,8] y) <float[8,8] vq = {$(numbers 64 0)}, float[8,8] vk = {$(numbers 64 500)}, float[8,8] vv = {$(numbers 64 900)}, float[8] bq = {$(numbers 8 90)}, float[8] bk = {$(numbers 8 190)}>
{ [q$at] q$at = MatMul(x, $wq) [qb$at] qb$at = Add(q$at, bq) [k$at] k$at = MatMul(x, $wk) [kb$at] kb$at = Add(k$at, bk) [t$at] t$at = Transpose<perm = [0, 2, 1]>(kb$at)
  [s$at] s$at = MatMul(qb$at, t$at) [p$at] p$at = Softmax(s$at) [vv$at] vv$at = MatMul(x, vv) [u] y = MatMul(p$at, vv$at) }"
done
show attendk.onnx attendq.onnx --random 1
