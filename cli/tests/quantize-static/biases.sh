# Most weights are less than half a step, so that all of them round to 0: what they add on average goes into the bias.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,8,4,4] x) => (float[batch,2] y)
<float[2,8,1,1] w1 = {1, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 0.003, 1}, float[2] b1 = {0.1, 0.1},
 float[2,2] w2 = {1, 0.003, 0.003, 1}, float[2] b2 = {0, 1}>
{
    ["abs"] p = Abs (x)
    ["first"] a = Conv (p, w1, b1)
    ["relu"] r = Relu (a)
    ["pool"] m = GlobalAveragePool (r)
    ["flat"] f = Flatten (m)
    ["second"] y = Gemm (f, w2, b2)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,8,4,4] a) => (float[batch,8,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x8x4x4 -o all.npz >/dev/null
quantize() { onnxtool quantize-static m.onnxtxt -o "$1.onnx" --calibration all.npz "${@:2}" | grep 'held out'; }
noise() { onnxtool parity "$1.onnx" m.onnxtxt --random 2 --shape x=60x8x4x4 -f json 2>/dev/null | tr -d ' ' | grep -o '"sqnr_db":[0-9]*' | head -1; }
quantize plain --accuracy plain
quantize corrected --accuracy plain --bias-correction
quantize channels --accuracy plain --bias-correction --per-channel
quantize default
for way in plain corrected channels default; do noise $way; done
onnxtool quantize-static m.onnxtxt --calibrate-only --calibration all.npz --table t.json
onnxtool quantize-static m.onnxtxt -o again.onnx --table t.json --accuracy plain --bias-correction >/dev/null && cmp corrected.onnx again.onnx && echo same
