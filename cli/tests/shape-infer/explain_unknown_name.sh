printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,C] x) => (y) { y = Relu(x) }' > m.txt
onnxtool shape-infer --explain nobody m.txt
