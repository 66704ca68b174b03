printf '<ir_version: 10, opset_import: ["" : 21, "other" : 1]> g (float[2,3] x, float[4,5] w) => (float[2,6] y, z) { y = MatMul(x, w) z = other.Thing(y) }' > m.txt
onnxtool shape-infer --strict m.txt
