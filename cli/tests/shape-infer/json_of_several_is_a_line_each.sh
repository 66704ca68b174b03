printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }' > a.txt
printf '<ir_version: 10, opset_import: ["" : 21]> g (int64[2] x) => (y) { y = NonZero(x) }' > b.txt
onnxtool shape-infer -f json a.txt b.txt
