# A WaveNet's gate: padding goes into the convolutions, and the halves that Split makes of integers stay such, with the scale of the whole.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,16] x) => (float[batch,4,16] y)
<float[4,2,2] w1 = {1, 0.5, 0.5, -1, 0.2, 1, -0.7, 0.3, 0.4, 0.6, 0.1, -0.9, 0.8, 0.5, 0.2, 0.1}, float[4,2,2] w2 = {0.7, 1, -0.5, 2, 0.3, 0.2, 0.1, -1, 1, 1, 0.5, 0.2, 0.1, 0.2, 0.3, 0.4},
 int64[6] left = {0, 0, 1, 0, 0, 0}, int64[2] halves = {2, 2}>
{
    ["pad1"] p = Pad (x, left)
    ["first"] a = Conv (p, w1)
    ["split"] u, v = Split <axis = 1> (a, halves)
    ["sigmoid"] s = Sigmoid (v)
    ["gate"] m = Mul (u, s)
    ["pad2"] r = Pad (m, left)
    ["second"] y = Conv (r, w2)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,16] a) => (float[batch,2,16] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x16 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -v 2>/dev/null
onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE '\] [a-zA-Z0-9_, ]+ = (QuantizeLinear|Split|Pad|Conv|Mul|Sigmoid) .*' | sed 's/  *$//'
onnxtool parity q.onnx m.onnxtxt --random 2 --shape x=3x2x16 --rtol 0.1 --atol 0.1 >out && echo near
onnxtool quantize-dynamic m.onnxtxt -o d.onnx -q && onnxtool dump d.onnx -f text | grep -cE '= (Pad|ConvInteger) '
