# A budget may need what stands in a body in float.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] w = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, int64 n = {3}, bool yes = {1}>
{
    ["loop"] y = Loop <body = b (int64 i, bool c, float[batch,4] s) => (bool d, float[batch,4] t) { ["inner"] m = MatMul (s, w) t = Tanh (m) d = Identity (c) }> (n, yes, x)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt --nodes '*' -o q.onnx --calibration all.npz --max-drop 20 | grep -E 'float|nodes'
echo "--- more than integers give"
onnxtool quantize-static m.onnxtxt --nodes '*' -o q.onnx --calibration all.npz --max-drop 70 | grep -E 'float|nodes'
