cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[batch,3] ids) => (float[batch,3,4] y, float[1,batch,2] h)
<float[5,2] table = {1, 2, 3, 4, 5, 6, 7, 8, 9, -10}, float[1,8,2] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, -2, 3, -4, 5, -6, 7, -8},
 float[1,8,2] r = {1, 2, 3, 4, 5, 6, 7, 8, 1, -2, 3, -4, 5, -6, 7, -8}, float[2,4] m = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2] axes = {1, 1}>
{
    ["gather"] e = Gather (table, ids)
    ["turn"] t = Transpose <perm = [1, 0, 2]> (e)
    ["lstm"] s, h = LSTM <hidden_size = 2> (t, w, r)
    ["squeeze"] z = Squeeze (s, one)
    one = Constant <value_ints = [1]> ()
    ["back"] b = Transpose <perm = [1, 0, 2]> (z)
    ["product"] y = MatMul (b, m)
}
MODEL
for i in 1 2 3; do
    mkdir -p data/test_data_set_$i
    onnxtool run m.onnxtxt --random $i --shape ids=2x3 -o data/test_data_set_$i/ --outputs ids >/dev/null 2>&1
    printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[2,3] a) => (int64[2,3] ids) { ids = Identity (a) }\n' >ids.onnxtxt
    printf '[[%d,1,2],[3,4,0]]' $i >ids.json
    onnxtool run ids.onnxtxt -i ids.json -o data/test_data_set_$i/ >/dev/null
    mv data/test_data_set_$i/output_0.pb data/test_data_set_$i/input_0.pb
done
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data -v
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -o '\] .* (.*\|^   [a-z_]* = [A-Z].*' | sort
onnxtool quantize-dynamic m.onnxtxt -o d.onnx && onnxtool check d.onnx
onnxtool quantize-dynamic m.onnxtxt -o c.onnx --contrib && onnxtool dump c.onnx -f text | grep -c DynamicQuantizeLSTM
