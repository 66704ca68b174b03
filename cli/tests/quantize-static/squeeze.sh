# Squeeze and excitation: what the pool and the product share is integers, so that both run on them.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,4,4] x) => (float[1,1,4,4] y)
<float[2,1,1,1] w = {1, -2}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}, float[1,2,1,1] u = {1, 0.5}>
{
    ["first"] c = Conv (x, w)
    ["swish"] h = HardSigmoid (c)
    ["shared"] s = Mul (c, h)
    ["squeeze"] p = GlobalAveragePool (s)
    ["gate"] q = Conv (p, v)
    ["open"] o = HardSigmoid (q)
    ["excite"] e = Mul (s, o)
    ["last"] y = Conv (e, u)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q --accuracy plain --quant-format qdq -o q.onnx --calibration data
onnxtool check --full -q q.onnx
onnxtool dump q.onnx -f text | grep -o '\(Mul\|GlobalAveragePool\) (.*)$'
