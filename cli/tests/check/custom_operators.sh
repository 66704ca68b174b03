cp "$TESTDATA/custom-op/acme.schema" .
cat > good.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 3, h, w] x, int64[2] size) => (float[n, 3, 8, 2] z, float[n, 3, a, b] cut)
{
  z, cut = com.acme.Crop <mode = "blur", border = [3, 1]>(x, size)
}
END
cat > bad.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 3, h] x, double[2,2] d) => (float[n,3,8,2] z, double[2,2] u, int32[1] e)
{
  z = com.acme.Crop <mode = 3, bord = [3, 1]>(x)
  u = com.acme.Inc(d)
  e = com.acme.Incr(d)
  f, g = com.acme.Inc()
}
END
onnxtool check good.onnxtxt
onnxtool check --full --schema acme.schema good.onnxtxt
onnxtool check --full --schema acme.schema bad.onnxtxt
