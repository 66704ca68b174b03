# Convolutions and products that onnxruntime merged with what follows when it saved the model are quantized as others are.
cat > merged.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
g (float[1,4,4,4] x) => (float[1,8] y)
<int64[4] d = {8, 4, 3, 3}, int64[4] e = {8, 8, 1, 1}, int64[2] h = {8, 8}> {
  s = ConstantOfShape<value = float[1] {0.5}>(d)
  t = ConstantOfShape<value = float[1] {0.25}>(e)
  v = ConstantOfShape<value = float[1] {0.125}>(h)
  c1 = com.microsoft.FusedConv<activation = "Relu", pads = [1, 1, 1, 1]>(x, s)
  c2 = com.microsoft.FusedConv<activation = "Clip", activation_params = [0.0, 6.0]>(c1, t, , c1)
  p = GlobalAveragePool(c2)
  f = Flatten(p)
  m = com.microsoft.FusedMatMul<alpha = 0.5, transB = 1>(f, v)
  y = com.microsoft.FusedGemm<activation = "LeakyRelu", activation_alpha = 0.2>(m, v)
}
END_OF_MODEL
onnxtool quantize-dynamic merged.onnxtxt -o int8.onnx
onnxtool check --full int8.onnx
onnxtool dump int8.onnx | grep operators
onnxtool parity merged.onnxtxt int8.onnx --random 1 --rtol 0.1 --atol 0.1 -q; echo "exit $?"
