printf '<ir_version: 8, opset_import: ["" : 11]> g (float[2,6] x) => (a, b) {
  s = Softmax<axis = 1>(x)
  a, b = Split<axis = 1, split = [4, 2]>(s)
}' > m.txt
onnxtool convert-opset m.txt --to 18 -o up.onnx
onnxtool dump -f text up.onnx
onnxtool convert-opset up.onnx --to 7 -o down.onnx
onnxtool dump -f text down.onnx
