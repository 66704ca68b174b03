# Spectra whose logarithm is taken stay in float, with what they are made of; Exp before the logarithm, as in Softplus, is no spectrum.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2,4,4] y)
<float[2,2,1,1] w = {1, -2, 0.5, 3}, float[4,4] f = {1, 0, 0, 0, 0.5, 1, 0.5, 0, 0, 0.5, 1, 0.5, 0, 0, 0, 1}, float[2,2,1,1] v = {0.5, 0.25, -1, 2},
 float[2,2,1,1] u = {0.5, 0.25, -1, 2}, float a = {0.001}, float one = {1}>
{
    ["waves"] c = Conv (x, w)
    s = Mul (c, c)
    ["filters"] m = MatMul (s, f)
    t = Max (m, a)
    l = Log (t)
    ["first"] k = Conv (l, v)
    e = Exp (k)
    d = Add (e, one)
    p = Log (d)
    ["last"] y = Conv (p, u)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt --dry-run --accuracy plain --calibration data | grep 'quantized  \|float  '
echo 16 bits
onnxtool quantize-static m.onnxtxt --dry-run --accuracy plain --activation-type quint16 --calibration data | grep 'quantized  \|float  '
echo dynamic
onnxtool quantize-dynamic m.onnxtxt --dry-run | grep 'quantized  \|float  '
echo "boxes, chosen by what was computed"
cat >b.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[8,64] x, int64[N] i) => (float[N,4] y)
<float[64,4] w, int64[2] pair = {0, 1}>
{
    ["boxes"] c = MatMul (x, w)
    k = Gather (c, i)
    a = Mul (k, k)
    y = Log (a)
}
MODEL
sed -i "s/w,/w = {$(seq -s, 256)},/" b.onnxtxt
onnxtool quantize-dynamic b.onnxtxt --dry-run | grep 'quantized  \|float  '
echo "entropy, which small values add little to"
cat >e.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[8,64] x) => (float[8] y)
<float[64,4] w, float eps = {1e-15}, int64[1] last = {-1}>
{
    ["mask"] c = MatMul (x, w)
    p = Mul (c, c)
    s = Add (p, eps)
    l = Log (s)
    n = Neg (p)
    e = Mul (n, l)
    y = ReduceSum <keepdims: int = 0> (e, last)
}
MODEL
sed -i "s/w,/w = {$(seq -s, 256)},/" e.onnxtxt
onnxtool quantize-dynamic e.onnxtxt --dry-run | grep 'quantized  \|float  '
