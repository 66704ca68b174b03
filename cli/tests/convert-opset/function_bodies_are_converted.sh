printf '<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[2,3] x) => (y) { y = local.f(x) }
<domain: "local", opset_import: ["" : 18]> f (a) => (b) {
  axes = Constant<value = int64[1] {1}>()
  r = ReduceMean<keepdims = 1>(a, axes)
  b = Gelu(r)
}' | sed 's/Gelu/Mish/' > m.txt
onnxtool convert-opset m.txt --to 13 -o out.onnx
onnxtool dump -f text out.onnx
