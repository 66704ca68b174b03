printf '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) <float[3] a = {1,2,3}> {
  b = Add(a, a)
  i = Identity(x)
  dead = Relu(i)
  y = Add(i, b)
}' > m.txt
onnxtool optimize m.txt --skip drop-dead,fold-constants -o out.onnx && onnxtool dump out.onnx | grep operators
onnxtool optimize m.txt --skip nothing,drop-dead 2>&1
onnxtool optimize m.txt --skip drop-dead --passes drop-dead 2>&1
