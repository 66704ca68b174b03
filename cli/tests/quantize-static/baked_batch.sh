# Exporters fix a batch in the middle of a graph and call the input's first dimension open: where a row alone does not run, 2, 4, 8
# ... rows are tried as one sample.
cat >m.txt <<MODEL
<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] x) => (float[2,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, int64[2] two = {2, 4}>
{ r = Reshape (x, two) y = MatMul (r, a) }
MODEL
sed 's/\[batch,4\]/[6,4]/; s/= Reshape (x, two)/= Relu (x)/; s/\[2,4\] y/[6,4] y/' m.txt >draw.txt
onnxtool run draw.txt --random 1 --outputs x -o x.npz -q
echo "--- six rows, two a sample"
onnxtool quantize-static m.txt -q -o q.onnx --calibration x.npz --report q.json
onnxtool quantize-static m.txt --calibrate-only --table t.json --calibration x.npz
tr '{' '\n' <t.json | grep -oE '"name":"r","samples":[0-9]+'
onnxtool quantize-static --debug q.onnx --float m.txt --calibration x.npz -q >/dev/null && echo compared
echo "--- weights by samples"
onnxtool quantize-dynamic m.txt -q -o w.onnx --weight-only int8 --block-size 16 --method gptq --calibration x.npz && echo written
echo "--- no batch runs: what a row alone gave is told"
sed -i 's/{2, 4}/{5, 7}/' m.txt
onnxtool quantize-static m.txt -q -o q.onnx --calibration x.npz
