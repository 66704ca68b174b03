printf '<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[2,3] x) => (float[2,3] y) <float[3] a = {1,2,3}, float[3] b = {1,2,3}> {
  [one] t = local.outer<k = 0.5>(x)
  u = Mul(t, a)
  y = Mul(u, b)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]> outer <k> (a) => (b) { t = local.inner<k: float = @k>(a) b = Relu(t) }
<domain: "local", opset_import: ["" : 18]> inner <k> (a) => (b) { b = LeakyRelu<alpha: float = @k>(a) }' > m.txt
onnxtool optimize --inline --dedup --passes drop-identities m.txt -o out.onnx
onnxtool dump -f text out.onnx
onnxtool optimize --passes nothing m.txt
