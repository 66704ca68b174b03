# Each output channel of a convolution has a scale of its own and integers around 128, whichever type of weights is asked for.
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[n,1,2] x) => (float[n,2,2] y) <float[2,1,1] w = {127, -1}> { y = Conv (x, w) }\n' >m.onnxtxt
for type in qint8 quint8; do
    onnxtool quantize-dynamic m.onnxtxt -o $type.onnx -q --weight-type $type
    onnxtool dump $type.onnx -f text | grep -oE '(uint8|float)\[[0-9,]*\] w[^}]*}'
done
cmp qint8.onnx quint8.onnx
