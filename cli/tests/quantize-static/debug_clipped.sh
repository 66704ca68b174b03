# Where integers clip by themselves there is no Relu: its value is what is dequantized, not what goes into the rounding (3 dB).
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,4,4] x) => (float[1,2,4,4] y)
<float[4,4,1,1] a = {1, -0.3, 0, 0, 0, -1, 0.1, 0, 0, 0.7, 1, 0, -0.2, 0, 0, 1}, float[2,4,1,1] b = {1, -2, 3, -4, 5, 6, -7, 8}>
{
    ["start"] t = Tanh (x)
    ["first"] h = Conv (t, a)
    ["clip"] r = Relu (h)
    ["second"] i = Conv (r, b)
    ["end"] y = Tanh (i)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q --accuracy plain --calibration data -o q.onnx
onnxtool quantize-static --debug q.onnx --float m.onnxtxt --calibration data | awk 'NR > 1 {print $4, $5, ($1 > 30 ? "fine" : $1)}'
