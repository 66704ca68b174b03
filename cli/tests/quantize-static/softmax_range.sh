# Steps of a softmax are as fine as twice what the samples showed asks for, but 1/255 where onnxruntime may run it on integers.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,64,8] x) => (float[1,64,8] y, float[1,64,8] z)
<float[8,8] w, float[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}>
{
    ["scores"] s = MatMul (x, w)
    u = Mul (s, zeros)
    t = Transpose <perm: list_int = [0,2,1]> (x)
    ["even"] e = MatMul (u, t)
    p = Softmax (e)
    ["weighted"] y = MatMul (p, x)
    q = Softmax (x)
    ["of_integers"] z = MatMul (q, w)
}
MODEL
sed -i "s/w,/w = {$(seq -s, 64)},/; s/list_int = /ints = /" m.onnxtxt
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q --accuracy plain --calibration data -o m.onnx
for s in p q; do onnxtool dump --tensor ${s}_scale m.onnx; done
