cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,4,4] x) => (float[batch,2,4,4] y)
<float[2,2,1,1] w1 = {100, 50, 0.5, -1}, float[2] b1 = {3, 0.25}, float[2,2,1,1] w2 = {0.01, 1, -0.005, 2}>
{
    ["first"] a = Conv (x, w1, b1)
    ["relu"] r = Relu (a)
    ["second"] y = Conv (r, w2)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,4,4] a) => (float[batch,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz
onnxtool quantize-static m.onnxtxt -o plain.onnx --calibration all.npz --accuracy plain
onnxtool quantize-static m.onnxtxt -o best.onnx --calibration all.npz --accuracy best
onnxtool quantize-static m.onnxtxt -o op.onnx --calibration all.npz --quant-format qoperator
onnxtool dump op.onnx -f text | grep -o 'QLinear[A-Za-z]*'
onnxtool quantize-static m.onnxtxt -o wide.onnx --calibration all.npz --activation-type quint16
for f in q plain best op wide; do onnxtool check $f.onnx; done
onnxtool dump wide.onnx -f text | grep opset
onnxtool quantize-dynamic m.onnxtxt -o d.onnx && onnxtool check d.onnx
