cp "$TESTDATA/custom-op/acme.schema" .
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 3, h, w] x) => (z)
{
  a = com.acme.Inc(x)
  z = Relu(a)
}
END
onnxtool dump -f nodes m.onnxtxt --input x=1x3x4x4
onnxtool dump -f nodes --schema acme.schema m.onnxtxt --input x=1x3x4x4
