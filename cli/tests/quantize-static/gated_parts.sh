# Gated convolutions, as WaveNet and its like have them: runtimes split integers only if all parts are such, and sums of what convolutions make
# for them alone stay on integers though what comes after is float.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[batch,2,4] x) => (float[batch,2,1] y)
<float[4,2,1] w1 = {1, 0.5, 0.5, -1, 0.3, 0.2, -0.6, 0.1}, float[2,2,1] w2 = {0.7, 1, -0.5, 2}, float[2,2,1] w3 = {0.4, 1, -0.5, 1.2}>
{
    ["first"] a = Conv (x, w1)
    ["parts"] p, g = Split <axis = 1> (a)
    ["tanh"] t = Tanh (p)
    ["gate"] s = Sigmoid (g)
    ["gated"] m = Mul (t, s)
    ["skip1"] c = Conv (m, w2)
    ["skip2"] d = Conv (m, w3)
    ["sum"] e = Add (c, d)
    ["relu"] r = Relu (e)
    ["mean"] y = ReduceMean <axes = [2]> (r)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 13]> g (float[batch,2,4] a) => (float[batch,2,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain --activation-type quint8 -v | grep unfused
onnxtool dump q.onnx -f text | grep -E ' (QuantizeLinear|Relu) ' | sed 's/.* \(QuantizeLinear\|Relu\) (\([a-z]*\),.*/\1 \2/'
onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 0.1 >out && echo near
