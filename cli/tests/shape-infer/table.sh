cat > m.txt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[batch,seq,768] x, bool c) => (y, z) {
  s = Shape(x)
  i = Constant<value = int64[2] {0, 1}>()
  b = Gather(s, i)
  h = Constant<value = int64[2] {12, -1}>()
  t = Concat<axis = 0>(b, h)
  y = Reshape(x, t)
  z = If(c) <then_branch = then_graph () => (p) { p = Relu(x) }, else_branch = else_graph () => (q) { q = ReduceSum<keepdims = 0>(x) }>
}
END
onnxtool shape-infer m.txt
