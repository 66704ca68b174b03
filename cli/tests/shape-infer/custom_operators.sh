cp "$TESTDATA/custom-op/acme.schema" .
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 3, h, w] x, float[m, 5, 1] y, float[r, 4] t, int64[2] free, open) => (z, w2, rows, f, o)
{
  size = Constant <value = int64[2] {8, 2}>()
  z0, cut = com.acme.Crop <mode = "blur", border = [3, 1]>(x, size)
  z = com.acme.Inc(z0)
  w2 = com.acme.AddAll(cut, y)
  all, count = com.acme.Keep(t)
  rows = com.acme.Inc <step = 2.0>(all)
  f = com.acme.Crop <mode = "blur">(x, free)
  o = com.acme.Inc(open)
}
END
onnxtool shape-infer --schema acme.schema m.onnxtxt
onnxtool shape-infer --schema acme.schema --explain rows --explain f --explain o m.onnxtxt
onnxtool shape-infer --schema acme.schema m.onnxtxt --input x=2x3x20x30 | grep w2
onnxtool shape-infer --schema acme.schema m.onnxtxt --input x=2x3x4x30
