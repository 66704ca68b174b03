printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,4] x) => (y) <float[N,7] b> { a = Relu(x) b = Relu(a) y = Concat<axis = 0>(a, b) }' > m.txt
onnxtool shape-infer -q -o kept.onnx m.txt && onnxtool shape-infer kept.onnx
onnxtool shape-infer -q -o out.onnx --overwrite m.txt && onnxtool shape-infer out.onnx
onnxtool shape-infer -o out2.onnx out.onnx && cmp out.onnx out2.onnx
