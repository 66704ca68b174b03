# Versions alone do not make a runtime load a model with functions that it does not expand.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] x) => (float[N] y) { y = local.twice(x) }
<domain: "local", opset_import: ["" : 17]>
twice (a) => (b) { b = Add(a, a) }
M
onnxtool convert-opset m.onnxtxt --target onnxruntime=1.8 -o o.onnx
onnxtool check --target onnxruntime=1.8 m.onnxtxt || echo "exit $?"
onnxtool optimize --inline --for onnxruntime=1.8.1:cpu m.onnxtxt -o o.onnx
onnxtool check --target onnxruntime=1.8 o.onnx
