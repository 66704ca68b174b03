# Products that comparisons alone read, as the nodes of trees that are written as products, stay in float: rounding would choose other leaves.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y, float[batch,4] z)
<float[4,4] a = {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}, float[4] t = {0.5, 0.25, 0.75, 0.3}, float[4,4] b = {1, 1, -1, 0, 1, -1, 0, 1, 0, 0, 1, -1, 0, 1, 0, 1},
 float[4] leaf = {2, 0, 1, 1}, float[4,4] v = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1}, float zero = {0}>
{
    ["choose"] f = Gemm (x, a)
    less = LessOrEqual (f, t)
    l = Cast <to = 1> (less)
    ["path"] p = MatMul (l, b)
    shape = Constant <value = int64[2] {-1, 4}> ()
    q = Reshape (p, shape)
    equal = Equal (q, leaf)
    e = Cast <to = 1> (equal)
    ["values"] y = MatMul (e, v)
    ["leaky"] k = MatMul (x, v)
    positive = Greater (k, zero)
    z = Where (positive, k, zero)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt --dry-run --accuracy plain --calibration all.npz | grep 'quantized  \|float  '
echo dynamic
onnxtool quantize-dynamic m.onnxtxt --dry-run | grep 'quantized  \|float  '
