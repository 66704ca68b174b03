# clip(x + 3, 0, 6) / 6 is HardSigmoid, in each of the orders that exporters write hard-swish in.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2,3] x) => (float[1,1,2,3] y)
<float[1,1,1,1] w = {2}, float three = {3}, float zero = {0}, float six = {6}, float sixth = {0.16666667}>
{
    c = Conv (x, w)
    a1 = Add (c, three)
    r1 = Clip (a1, zero, six)
    p1 = Mul (c, r1)
    h = Div (p1, six)
    d = Conv (h, w)
    a2 = Add (three, d)
    r2 = Clip (a2, zero, six)
    g2 = Mul (r2, sixth)
    i = Mul (g2, d)
    e = Conv (i, w)
    a3 = Add (e, three)
    r3 = Clip (a3, zero, six)
    p3 = Mul (r3, e)
    y = Mul (sixth, p3)
}
MODEL
mkdir data
onnxtool run m.onnxtxt --random 1 -q --save-test-data data/test_data_set_0 >/dev/null
onnxtool quantize-static m.onnxtxt -q -o q.onnx --calibration data
onnxtool check -q q.onnx
onnxtool dump q.onnx -f text | grep -oE '= (Add|Clip|Div|Mul|HardSigmoid).*$'
onnxtool quantize-static m.onnxtxt -q -o q.onnx --calibration data --compat ort
onnxtool dump q.onnx -f text | grep -cE HardSigmoid || true
