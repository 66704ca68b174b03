cat >m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[batch, seq, 8] x) => (float[batch, n] y) { y = Flatten <axis = 1> (x) }
M
onnxtool shape-infer --set batch=2 --input x=batchx5x8 --freeze -o fixed.onnx m.onnxtxt
onnxtool dump -f text fixed.onnx
