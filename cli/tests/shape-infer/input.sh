printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,C,h] x) => (y) { y = Concat<axis = 0>(x, x) }' > m.txt
onnxtool shape-infer --input x=1x3x? m.txt
onnxtool shape-infer --input 2*Bx3xW m.txt
