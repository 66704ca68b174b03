# What onnxruntime's optimizer leaves in ai.onnx is no operator of it, or not yet: the hint tells where it comes from.
cat > norms.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,4] x) => (float[2,4] y) <float[4] w = {1, 1, 1, 1}> {
  a = SimplifiedLayerNormalization<axis = -1>(x, w)
  y = LayerNormalization<axis = -1>(a, w)
}
END_OF_MODEL
onnxtool check norms.onnxtxt
