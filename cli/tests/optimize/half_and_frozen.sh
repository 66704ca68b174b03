printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x) => (float[N,4] y, float[N,4] big) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float[4] h = {100000.0,1,1,1}> {
  m = MatMul(x, w)
  r = Relu(m)
  big = Mul(r, h)
  y = Tanh(r)
}' > m.txt
onnxtool optimize m.txt --fp16 -o half.onnx
onnxtool check --full half.onnx
onnxtool dump -f text half.onnx
onnxtool optimize m.txt --bf16 --fp16 -o half.onnx
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N,3] x) => (float[N,3] y) { s = Shape(x) r = Reshape(x, s) y = Exp(r) }' > open.txt
onnxtool optimize open.txt --freeze x=2x3 -o frozen.onnx
onnxtool dump -f text frozen.onnx
onnxtool optimize m.txt --freeze M=2 -o frozen.onnx
onnxtool optimize m.txt --freeze N=2 -o frozen.onnx
onnxtool shape-infer frozen.onnx | head -n 3
