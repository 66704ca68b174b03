printf '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (y) { y = Relu(x) }' > m.txt
onnxtool convert-opset m.txt --to 17 --dry-run -o out.onnx -f json
ls
