# A value that has no elements in any sample, as a cache before the first step: onnxruntime's quantizer gives it scale 1 and zero point 0.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,2,2] x, float[1,p,2] cache) => (float[1,t,2] y)
<float[2,2] w = {1, 0.5, -1, 2}>
{
    ["product"] p = MatMul (x, w)
    ["join"] y = Concat <axis = 1> (cache, p)
}
MODEL
mkdir -p data
for i in 1 2; do onnxtool run m.onnxtxt --random $i --shape cache=1x0x2 -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt --calibration data -q --compat ort -o q.onnx
onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE 'cache_(scale|zero_point) = [^,>]*' | sort
