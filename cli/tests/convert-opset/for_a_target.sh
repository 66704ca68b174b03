printf '<ir_version: 10, opset_import: ["" : 21]> g (float[2,4] x) => (float[2,4] y) { y = Gelu(x) }' > m.txt
onnxtool convert-opset m.txt --target onnxruntime=1.12 -o out.onnx
onnxtool check out.onnx
onnxtool convert-opset out.onnx --target onnxruntime=1.16 --dry-run
onnxtool convert-opset m.txt --target nobody
