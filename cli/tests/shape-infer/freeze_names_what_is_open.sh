echo '<ir_version: 10, opset_import: ["" : 21]> g (float[batch, 8] x) => (y) { y = Relu (x) }' >m.onnxtxt
onnxtool shape-infer --freeze -o fixed.onnx m.onnxtxt
code=$?
[ -e fixed.onnx ] && echo "written all the same"
exit $code
