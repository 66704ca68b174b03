# A constant times what is computed, as filter banks and exports of state-space models have it, runs on integers too.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,4] x) => (float[batch,2,4] y)
<float[2,3] bank = {1, -2, 3, 0.5, 0.25, -1}>
{
    ["bank"] y = MatMul (bank, x)
}
MODEL
mkdir data
for i in 1 2 3; do
    onnxtool run m.onnxtxt --random $i --shape x=2x3x4 -o data/test_data_set_$i/ --outputs x >/dev/null 2>&1
    mv data/test_data_set_$i/output_0.pb data/test_data_set_$i/input_0.pb
done
for form in qdq qoperator; do
    onnxtool quantize-static m.onnxtxt -q --quant-format $form -o $form.onnx --calibration data
    onnxtool check $form.onnx
    onnxtool dump $form.onnx -f text | grep -o '[a-zA-Z]* ([a-z].*)$'
done
# Infinities cannot.
sed 's/{1, -2, 3, 0.5, 0.25, -1}/{1, -2, inf, 0.5, 0.25, -1}/' m.onnxtxt >bad.onnxtxt
onnxtool quantize-static bad.onnxtxt --dry-run --calibration data 2>&1 | grep bank
