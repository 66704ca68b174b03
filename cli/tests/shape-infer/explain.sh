cat > m.txt <<'END'
<ir_version: 10, opset_import: ["" : 21, "other" : 1]>
g (float[N,4] x) => (y, k) {
  <name = "odd"> a = other.Thing(x)
  <name = "act"> b = Relu(a)
  <name = "sum"> y = Add(b, x)
  <name = "where"> n = NonZero(x)
  <name = "t"> k = Transpose(n)
}
END
sed -i 's/<name = "[a-z]*">//' m.txt
onnxtool shape-infer --explain y --explain k m.txt
