# Constant factors and sums behind a convolution go into its weights: behind DQ no runtime does that, and each would be an operator on floats.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2,4,4] y)
<float[2,2,1,1] w = {1, -2, 0.5, 3}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}, float[1,2,1,1] b = {0.5, -0.25}, float f = {1.5}, float a = {0.125}>
{
    ["first"] c = Conv (x, w)
    d = Add (c, b)
    e = Mul (d, f)
    g = Add (e, a)
    h = HardSwish (g)
    ["last"] y = Conv (h, v)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
for command in 'quantize-static --calibration data --quant-format qdq' 'quantize-static --calibration data --quant-format qoperator' quantize-dynamic; do
    onnxtool $command m.onnxtxt -q --accuracy plain -o q.onnx
    onnxtool dump q.onnx -f text | grep -o '= [A-Z][A-Za-z]* ' | grep -v 'QuantizeLinear\|DequantizeLinear' | tr -d '=\n'
    onnxtool parity q.onnx m.onnxtxt --random 3 --rtol 0.05 --atol 0.1 >out && echo near
done
