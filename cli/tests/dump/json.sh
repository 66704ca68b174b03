cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N] X) => (float[N] Y) { Y = LeakyRelu <alpha = 0.1> (X) }
X
onnxtool dump -f json model.onnxtxt
