cp "$TESTDATA/custom-op/acme.schema" .
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 4] x) => (float[n,2] z)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  a = com.acme.Inc(x)
  z = MatMul(a, w)
}
END
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --schema acme.schema
onnxtool check --full --schema acme.schema q.onnx
onnxtool shape-infer --schema acme.schema q.onnx | grep -E '^(a|z) '
