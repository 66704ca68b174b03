# The last convolution of a residual block begins as zeros: what it makes is 0 whatever comes, and the sum after it runs on integers. So does
# the product of squeeze and excitation with what a Relu made of integers.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,4,4] x) => (float[batch,2,4,4] y)
<float[2,2,1,1] w1 = {1, 0.5, 0.5, -1}, float[2,2,1,1] w2 = {0.7, 1, -0.5, 2}, float[2,2,1,1] none = {0, 0, 0, 0}>
{
    ["first"] a = Conv (x, w1)
    ["relu"] r = Relu (a)
    ["mean"] m = ReduceMean <axes = [2, 3]> (r)
    ["squeeze"] q = Conv (m, w2)
    ["gate"] s = Sigmoid (q)
    ["scaled"] p = Mul (r, s)
    ["zeros"] z = Conv (p, none)
    ["skip"] k = Conv (x, w2)
    ["sum"] u = Add (z, k)
    ["last"] y = Conv (u, w1)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,4,4] a) => (float[batch,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -v 2>/dev/null
onnxtool check --full q.onnx
onnxtool parity q.onnx m.onnxtxt --random 2 --shape x=3x2x4x4 --rtol 0.1 --atol 0.1 >out && echo near
