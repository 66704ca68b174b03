# Softmax of opset 11 flattens: a Transpose before it and one behind, and the model has a node of that name.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[2,3,4] x) => (float[2,3,4] y) {
  [s_Transpose] a = Relu(x)
  [s] y = Softmax<axis = 1>(a)
}
M
onnxtool convert-opset m.onnxtxt --to 11 -o o.onnx
onnxtool dump -f text o.onnx
