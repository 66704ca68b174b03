echo '<ir_version: 10, opset_import: ["" : 21]> g (float[batch, 8] x) => (y) { y = Relu (x) }' >m.onnxtxt
onnxtool shape-infer --set time=2 m.onnxtxt
