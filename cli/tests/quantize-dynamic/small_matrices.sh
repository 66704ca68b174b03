# A small matrix of long columns becomes uint8, which runtimes add exactly, where its scales would grow; a larger one keeps int8.
for n in 63 64; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,64] x) => (float[4,$n] y)
<float[64,$n] w = {$(seq -s ', ' 1 $((64 * n)))}>
{
    y = MatMul (x, w)
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -f json | grep '"most_widened"'
    onnxtool dump q.onnx -f text | grep -oE '[< ]u?int8\[[0-9,]*\] w_quantized'
done
