# Waves whose parts' modulus is taken stay in float: their samples, of which the loud set the steps, and their sums. A norm is no modulus.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,64] x) => (float[1,2,16] y)
<float[4,1,4] w = {1, -2, 0.5, 3, 1, 2, 0.5, -3, 0.2, 0.4, -0.1, 0.7, 0.3, -0.9, 0.6, 0.1}, float[2,2,1] v = {0.5, 0.25, -1, 2},
 float[2,2,1] u = {0.5, 0.25, -1, 2}, float two = {2}, float a = {0.001}>
{
    ["waves"] c = Conv <strides = [4]> (x, w)
    re, im = Split <axis = 1> (c)
    p = Pow (re, two)
    q = Mul (im, im)
    r = Add (p, q)
    s = Add (a, r)
    m = Sqrt (s)
    ["first"] k = Conv (m, v)
    n = Mul (k, k)
    o = ReduceMean <axes = [1]> (n)
    b = Add (o, a)
    d = Sqrt (b)
    e = Div (k, d)
    ["last"] y = Conv (e, u)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt --dry-run --accuracy plain --calibration data | grep 'quantized  \|float  '
echo 16 bits
onnxtool quantize-static m.onnxtxt --dry-run --accuracy plain --activation-type quint16 --calibration data | grep 'quantized  \|float  '
echo a scale for each run
onnxtool quantize-dynamic m.onnxtxt --dry-run | grep 'quantized  \|float  '
