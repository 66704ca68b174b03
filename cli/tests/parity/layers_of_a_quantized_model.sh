# A quantizer leaves names alone: what it took into the node before (Relu) and what it put in between (Q and DQ) are no other count.
model() { printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {1, 0.5, -0.5, 1}, float s = {0.05}, uint8 z = {128}, uint8 zero = {0}>\n{ %s }\n' "$2" >"$1.onnx"; }
model float '["/0/Conv"] "/0/Conv_output_0" = Conv(x, w) ["/1/Relu"] "/1/Relu_output_0" = Relu("/0/Conv_output_0")
  ["/2/Conv"] "/2/Conv_output_0" = Conv("/1/Relu_output_0", w) ["/3/Relu"] "/3/Relu_output_0" = Relu("/2/Conv_output_0") ["/4/Tanh"] y = Tanh("/3/Relu_output_0")'
model quantized 'x_q = QuantizeLinear(x, s, z) x_d = DequantizeLinear(x_q, s, z) ["/0/Conv"] "/1/Relu_output_0" = Conv(x_d, w)
  r1_q = QuantizeLinear("/1/Relu_output_0", s, zero) r1_d = DequantizeLinear(r1_q, s, zero) ["/2/Conv"] "/3/Relu_output_0" = Conv(r1_d, w)
  r2_q = QuantizeLinear("/3/Relu_output_0", s, zero) r2_d = DequantizeLinear(r2_q, s, zero) ["/4/Tanh"] y = Tanh(r2_d)'
"$ONNXTOOL" parity quantized.onnx float.onnx --layers --random 1 2>/dev/null | sed -n '/^  value/,/^$/s/^[> ] \([^ ]*\) *\([A-Za-z]*\) .*/\1 \2/p'
