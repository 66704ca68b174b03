# Outputs that are mostly noise: a sine of many turns takes a rounded product for any other; what adds most by itself is named.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {900, 1, 1, 1, 1, 700, 0.7, 1, 1, 0.3, 800, 1, 1, 1, 1, 600}>
{
    ["easy"] h = MatMul (x, a)
    ["turns"] c = MatMul (h, b)
    y = Sin (c)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
quantize() { onnxtool quantize-static m.onnxtxt "$@" >/dev/null; }
quantize -o q.onnx --calibration all.npz
quantize -o q.onnx --calibration all.npz -q
quantize --dry-run --calibration all.npz
quantize -o q.onnx --calibration all.npz --max-drop 30
quantize -o q.onnx --calibration all.npz --accuracy plain
quantize -o q.onnx --calibration all.npz --report r.json
grep -c '"held_out_db": -*[0-9]' r.json
