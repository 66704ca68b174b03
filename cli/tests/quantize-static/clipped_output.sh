# What a Relu alone reads has the range of what the Relu makes, but not where it is an output as well.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,2,4,4] x) => (float[n,2,4,4] y, float[n,2,4,4] c)
<float[2,2,1,1] w = {1, -2, 0.5, 3}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}>
{
    ["first"] c = Conv (x, w)
    ["relu"] r = Relu (c)
    ["second"] y = Conv (r, v)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2,4,4] a) => (float[n,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -q -o q.onnx --calibration all.npz
onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x2x4x4 --rtol 0.02 --atol 0.2 >out && echo near
