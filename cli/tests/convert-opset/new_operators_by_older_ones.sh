printf '<ir_version: 10, opset_import: ["" : 23]> g (float[2,4] x, float[4] w) => (float[2,4] y, float[2,4] z) {
  n = RMSNormalization<axis = -1, epsilon = 1e-5>(x, w)
  y = Gelu<approximate = "tanh">(n)
  z = HardSwish(x)
}' > m.txt
onnxtool convert-opset m.txt --to 12 -o out.onnx | sed 's/difference .*/difference: small/'
onnxtool check --full out.onnx
onnxtool dump -f text out.onnx
