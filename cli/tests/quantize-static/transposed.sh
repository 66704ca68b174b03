# There is no transposed convolution on integers: in the form of operators its weight alone is stored in them.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,4,4] x) => (float[batch,2,4,4] y)
<float[2,2,1,1] w1 = {1, 0.5, 0.5, -1}, float[2,2,1,1] w2 = {0.7, 1, -0.5, 2}>
{
    ["first"] a = Conv (x, w1)
    ["up"] y = ConvTranspose (a, w2)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,4,4] a) => (float[batch,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
for form in qdq qoperator; do
    echo "--- $form"
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain --quant-format $form --per-channel -q && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '= (QLinearConv|QuantizeLinear|DequantizeLinear|ConvTranspose) '
done
