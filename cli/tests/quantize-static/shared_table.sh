# Two nodes take rows of one table: it is stored once, in the type of activations, and products behind take its integers as they are.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[n] one, int64[n] two) => (float[n,2] y, float[n,4] z)
<float[4,4] table = {0.16, 0.85, -0.96, 0.70, 0.33, -0.68, 0.65, 0.55, 0.37, 0.80, 0.89, -0.13, -0.78, 0.87, 0.95, 0.60},
 float[4,2] w = {1, 0.3, -0.7, 0.1, 0.6, -0.4, 0.9, 0.2}, float[2] b = {0.1, -0.2}>
{
    ["a"] p = Gather (table, one)
    ["b"] z = Gather (table, two)
    ["c"] y = Gemm (p, w, b)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[n,m] a) => (int64[n,m] one, int64[n,m] two) { one = Identity (a) two = Identity (a) }\n' >ids.onnxtxt
printf '[[0, 1, 2, 3], [3, 1, 1, 0]]' >ids.json
printf '[0, 1, 2, 3]' >i.json
onnxtool run ids.onnxtxt -i a=ids.json -o all.npz -q
for type in quint8 qint8 quint16; do
    echo "--- $type"
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --activation-type $type | grep -E '^float|nodes quantized'
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'u?int[0-9]*\[[0-9,]*\] [a-z]*_quantized'
    onnxtool dump q.onnx -f text | grep -cE '= QuantizeLinear'
    onnxtool parity q.onnx m.onnxtxt -i one=i.json -i two=i.json --rtol 0.02 --atol 0.02 >/dev/null && echo near
done
