# GroupNormalization in opset 20's words rounds otherwise in the last bit, which moves a few codes of 16 bits by a step.
printf '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[1,8,64,128] x) => (y)
  <float[8] s = {1.0,1.5,2.0,1.1,1.2,1.3,0.7,0.9}, float[8] b = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8}, float q = {0.0002}, uint16 z = {32768}> {
  n = GroupNormalization<num_groups=2>(x, s, b) c = com.microsoft.QuantizeLinear(n, q, z) y = com.microsoft.DequantizeLinear(c, q, z) }' > m.txt
onnxtool convert-opset --to 20 m.txt -o o.onnx | sed 's/: largest.*, SQNR .*/: SQNR/'
onnxtool convert-opset --to 20 --rtol 1e-3 m.txt -o p.onnx 2>&1 >/dev/null | sed 's/element .*//'
