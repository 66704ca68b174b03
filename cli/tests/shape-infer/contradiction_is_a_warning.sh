printf '<ir_version: 10, opset_import: ["" : 21]> g (float[2,3] x, float[4,5] w) => (y) { y = MatMul(x, w) }' > m.txt
onnxtool shape-infer m.txt
