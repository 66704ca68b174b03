# What is folded of much smaller constants, a mask and indices, is in the file as the nodes that make it; what becomes weights or shrinks
# is not.
cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,4,64,64] x, float[8,8] v) => (float[1,4,64,64] masked, float[1,4,64,64] again, float[8,4] y, float[8,4] z)
<int64[64] n = {$(seq -s, 0 63)}, int64[2] column = {64, 1}, float least = {-10000}, float zero = {0},
 float[1,4,1,1] heads = {1, 2, 3, 4}, float[32] few = {$(seq -s, 1 32)}, int64[2] turned = {8, 4}, float[8,4] more = {$(seq -s, 1 32)}>
{
    rows = Reshape (n, column)
    later = Less (rows, n)
    mask = Where (later, least, zero)
    scaled = Mul (mask, heads)
    masked = Add (x, scaled)
    again = Mul (x, scaled)
    weight = Reshape (few, turned)
    y = MatMul (v, weight)
    halved = Sub (more, weight)
    sum = Add (halved, weight)
    z = MatMul (v, sum)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE '= (Reshape|Less|Where|Sub|MatMulInteger|Add|Mul) ?\(' | sort | uniq -c
[ "$(wc -c <q.onnx)" -lt 8000 ] && echo small
onnxtool parity q.onnx m.onnxtxt --random 2 --atol 1 --rtol 0.1 >/dev/null && echo near
echo '--- of a larger constant, in a node: what is folded stays'
cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : 17]>
g (float[8,1024] x) => (float[8,1024] y, float[8,4] z)
<float[1024,4] w = {$(seq -s, 1 4096)}>
{
    numbers = Constant <value = int64[1024] {$(seq -s, 1 1024)}> ()
    floats = Cast <to = 1> (numbers)
    y = Mul (x, floats)
    z = MatMul (x, w)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q
onnxtool dump q.onnx -f text | grep -oE '(float|int64)\[1024\] [a-z]+'
