# int8 activations since opset 21: onnxruntime refuses the Q that it adds itself on x86, behind what moves dequantized values and where it makes a
# matrix of a stack for Gemm. So movers have Q and DQ behind them, and what adds a row to such a product is a Sum.
for opset in 20 21; do
    cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : $opset]>
g (float[1,1,4,4] x) => (float[1,4,4] y, float[1,4,3] z)
<float[1,1,1,1] w = {2}, int64[1] one = {1}, float[4,3] v = {1, 0.5, 2, -1, 0.25, 1, 0.5, 1, -2, 1, 2, 0.75}, float[3] b = {1, 2, 3}>
{
    ["first"] c = Conv (x, w)
    ["move"] s = Squeeze (c, one)
    ["end"] y = Erf (s)
    ["product"] p = MatMul (y, v)
    ["row"] z = Add (p, b)
}
MODEL
    mkdir -p data
    for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
    onnxtool quantize-static m.onnxtxt -q --activation-type qint8 -o q.onnx --calibration data
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '(Squeeze|Erf|MatMul|Add|Sum|[a-z]_q = QuantizeLinear) \(.*' | sed 's/  *$//'
    onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 0.1 >/dev/null && echo near
done
