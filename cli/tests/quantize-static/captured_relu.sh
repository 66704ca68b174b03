# Integers clip by themselves, but a branch that captures what Relu made reads floats: the Relu stays.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x, bool c) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, -1, 0, 0.2, 0, 0, -1}, float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1}>
{
    h = MatMul (x, a)
    r = Relu (h)
    k = MatMul (r, b)
    y = If (c) <
        then_branch = t () => (float[batch,4] p) { p = Add (k, r) },
        else_branch = e () => (float[batch,4] q) { q = Sub (k, r) }
    >
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a, bool[batch] d) => (float[batch,4] x, bool[batch] c) { x = Identity (a) c = Identity (d) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --shape d=60 -o all.npz >/dev/null
for format in qdq qoperator; do
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --quant-format $format -q
    onnxtool dump q.onnx -f text | grep -c ' Relu '
    onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x4 --rtol 0.02 --atol 0.3 >out && echo near
done
