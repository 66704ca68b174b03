# Behind a Relu that floats follow onnxruntime has no product on integers, but behind a LeakyRelu; integers may follow, or several nodes read it.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,8] x) => (float[1,4,8] y, float[1,4,8] z, float[1,4,8] u)
<float[8,8] w, float[8,8] v>
{
    a = MatMul (x, w)
    b = Relu (a)
    c = Sqrt (b)
    y = MatMul (c, v)
    d = MatMul (x, v)
    e = Relu (d)
    z = MatMul (e, w)
    f = MatMul (y, w)
    r = Relu (f)
    u = Mul (r, r)
}
MODEL
sed -i "s/w,/w = {$(seq -s, 64)},/; s/v>/v = {$(seq -s, 2 65)}>/" m.onnxtxt
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q --accuracy plain --calibration data -o q.onnx
onnxtool dump q.onnx -f text | grep -o '[A-Za-z]*Relu.*'
