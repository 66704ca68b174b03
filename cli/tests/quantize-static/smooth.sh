cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,3] y)
<float[4] scale = {1, 64, 1, 0.5}, float[4] bias = {0, 1, 0.5, 0}, float[4,3] a = {1, 0.3, 0.7, 0.01, 0.02, -0.03, 1, 0.1, 0.7, 0.7, 1, 0.4}>
{
    ["norm"] h = LayerNormalization (x, scale, bias)
    ["product"] y = MatMul (h, a)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o plain.onnx --calibration all.npz --accuracy plain
onnxtool quantize-static m.onnxtxt -o smooth.onnx --calibration all.npz --accuracy plain --smooth
onnxtool quantize-static m.onnxtxt -o best.onnx --calibration all.npz
onnxtool dump smooth.onnx -f text | grep -o 'scale_*[0-9]* = {[0-9.,]*}' | head -1
noise() { onnxtool parity "$1" m.onnxtxt --random 2 --shape x=60x4 -f json 2>/dev/null | tr -d ' ' | grep -o '"sqnr_db":[0-9]*' | head -1; }
noise plain.onnx
noise smooth.onnx
onnxtool quantize-static m.onnxtxt --calibrate-only --calibration all.npz --table t.json
onnxtool quantize-static m.onnxtxt -o again.onnx --table t.json >/dev/null && cmp best.onnx again.onnx && echo same
