cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,1,2,3] x) => (float[batch,2] y)
<float[2,1,1,2] cw = {1, -2, 0.5, 4}, float[2] cb = {0.25, -1}, float[2] one = {1, 2}, float[2,8] gw = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8},
 float[2] gb = {10, 20}>
{
    ["conv"] c = Conv (x, cw)
    ["norm"] n = BatchNormalization (c, one, cb, cb, one)
    ["relu"] r = Relu (n)
    ["flat"] f = Flatten (r)
    ["gemm"] y = Gemm <transB = 1> (f, gw, gb)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,1,2,3] a) => (float[batch,1,2,3] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x1x2x3 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --per-channel --accuracy plain -v
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -o '\] .* (.*' | sort
onnxtool quantize-static m.onnxtxt -o q2.onnx --calibration all.npz --per-channel --accuracy plain -t 1 && cmp q.onnx q2.onnx
echo --- usage
onnxtool quantize-static m.onnxtxt -o q.onnx
onnxtool quantize-static m.onnxtxt --calibration all.npz
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration missing
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration .
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --exclude-nodes nobody
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --activation-type quint16
