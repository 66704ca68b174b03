# Pairs of Q and DQ that a runtime runs in float are named with the reason: here Tanh stands between two products, placed as onnxruntime's
# quantizer does it, and the model's output is float.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y, float[batch,4] s)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}>
{
    ["first"] h = MatMul (x, a)
    ["tanh"] t = Tanh (h)
    ["sum"] s = Add (h, t)
    ["second"] y = MatMul (t, a)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --compat ort -v --report r.json | grep unfused
grep -A 7 '"unfused"' r.json
grep '"saturates"' r.json
echo "--- a product and a Relu that integers do not clip are kept apart"
cat >g.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4] b = {1, 2, 3, -4}>
{
    ["first"] h = Gemm (x, a, b)
    ["relu"] r = Relu (h)
    ["second"] y = Gemm (r, a, b)
}
MODEL
onnxtool quantize-static g.onnxtxt -o g.onnx --calibration all.npz --activation-type qint8 --symmetric-activation -q >/dev/null
onnxtool dump g.onnx -f text | grep -E ' (Gemm|LeakyRelu|QuantizeLinear) ' | sed 's/.*\] //'
echo "--- what another activation takes is not rounded"
sed 's/Relu (h)/Tanh (h)/' g.onnxtxt >t.onnxtxt
onnxtool quantize-static t.onnxtxt -o t.onnx --calibration all.npz -q >/dev/null
onnxtool dump t.onnx -f text | grep -E ' (Gemm|Tanh|QuantizeLinear) ' | sed 's/.*\] //'
onnxtool quantize-static t.onnxtxt -o t.onnx --calibration all.npz --quant-format qoperator -q >/dev/null
onnxtool dump t.onnx -f text | grep -E ' (QLinearMatMul|Gemm|Tanh|QuantizeLinear) ' | sed 's/.*\] //'
