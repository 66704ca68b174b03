# Scales of small weights are no normal numbers of float16; with 16 bits those of nearly all activations are not. The scale of a bias would be 0.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float16[batch,4] x) { x = Cast <to = 10> (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
cat >m.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float16[3,4] x) => (float16[3,4] y)
<float[4,4] wide_w = {0.001, 0.002, -0.003, 0.004, 0.003, 0.002, 0.001, 0, -0.001, 0.001, 0.002, 0.003, 0.004, 0.001, -0.002, 0.003}, float[4] wide_b = {0.001, -0.002, 0.003, 0.004}>
{
    w = Cast <to = 10> (wide_w)
    b = Cast <to = 10> (wide_b)
    ["p"] y = Gemm (x, w, b)
}
MODEL
for options in --per-channel '--activation-type quint16' '--quant-format qoperator' '--symmetric-activation'; do
    echo "--- $options"
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain -q $options && onnxtool check --full q.onnx
    onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.05 --atol 0.0005 >out && echo near
done
echo "--- QLinearConv, with scales of float32"
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4,2,2] a) => (float16[batch,4,2,2] x) { x = Cast <to = 10> (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4x2x2 -o all.npz >/dev/null
cat >c.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float16[batch,4,2,2] x) => (float16[batch,2,2,2] y)
<float[2,4,1,1] wide_w = {0.001, 0.002, -0.003, 0.004, 0.003, 0.002, 0.001, 0}, float[2] wide_b = {0.001, -0.002}>
{
    w = Cast <to = 10> (wide_w)
    b = Cast <to = 10> (wide_b)
    ["p"] y = Conv (x, w, b)
}
MODEL
onnxtool quantize-static c.onnxtxt -o q.onnx --calibration all.npz --quant-format qoperator -q && onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE '(De)?QuantizeLinear |(QLinear)?Conv |Cast <[^>]*>'
