cat >m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[M] w, int64[2] s) => (d) {
  h = Identity (s)
  [shaped] r = Reshape (w, h)
  d = Relu (r)
}
M
onnxtool shape-infer --explain d m.onnxtxt
onnxtool shape-infer --explain d -f json m.onnxtxt
