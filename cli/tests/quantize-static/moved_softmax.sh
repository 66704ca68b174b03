# A detector's distances: of a softmax, moved before the convolution reads it, the range is 0 to 1 as of the softmax itself. onnxruntime quantizes
# before the Transpose, and its softmax on integers overflows at scales much under 1/256 (0.8 dB came of it).
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,2,2] x) => (float[1,1,2,2] y)
<float[16,1,1,1] v = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, float[1,16,1,1] w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}>
{
    ["box"] c = Conv (x, v)
    ["last"] t = Transpose <perm = [0, 2, 3, 1]> (c)
    ["softmax"] s = Softmax (t)
    ["back"] u = Transpose <perm = [0, 3, 1, 2]> (s)
    ["sum"] y = Conv (u, w)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q -o q.onnx --calibration data
onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE 'u_scale = [^,>]*'
onnxtool quantize-static m.onnxtxt -q --compat ort -o c.onnx --calibration data
onnxtool dump c.onnx -f text | grep -oE '[su]_scale = [^,>]*' | sort -u
