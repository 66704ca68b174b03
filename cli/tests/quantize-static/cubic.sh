# onnxruntime refuses a cubic Resize behind a convolution on integers: what it is made of stays in float, the others do not.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2,8,8] y)
<float[2,2,1,1] w = {1, -2, 0.5, 3}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}, float[4] s = {1, 1, 2, 2}>
{
    ["first"] c = Conv (x, w)
    ["clipped"] r = Relu (c)
    ["grown"] t = Resize <mode = "MODE"> (r, , s)
    ["last"] y = Conv (t, v)
}
MODEL
for mode in cubic linear; do sed "s/MODE/$mode/" m.onnxtxt >$mode.onnxtxt; done
mkdir -p data
for i in 1 2 3; do onnxtool run linear.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
for mode in cubic linear; do
    onnxtool quantize-static $mode.onnxtxt -q --accuracy plain --quant-format qoperator -o $mode.onnx --calibration data
    onnxtool dump $mode.onnx -f text | grep -o '\(Conv\|QLinearConv\|Resize\) .*(' | grep -o '^[A-Za-z]*' | paste -sd' '
done
onnxtool quantize-static cubic.onnxtxt --dry-run --calibration data | grep cubic
