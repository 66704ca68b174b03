# As simulate_saturation, for what has no fast form: sums exact first, then with pairs that stop at 32767. int8 by int8 and ConvInteger,
# whose weights are the left side there, stay exact.
echo '[[255, 255, 255, 255]]' > codes.json
echo '[[1, 1, 1, 1]]' > floats.json
both() { for how in nothing avx2-saturating; do onnxtool run "$@" --simulate $how; done; }

echo "MatMulIntegerToFloat"
cat > to_float.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
g (uint8[1,4] x) => (float[1,2] y)
<int8[4,2] w = {127, 1, 127, 1, 127, 1, 127, 1}, float one = {1}>
{ y = com.microsoft.MatMulIntegerToFloat(x, w, one, one) }
END_OF_MODEL
both to_float.onnxtxt -i x=codes.json

echo "MatMulIntegerToFloat, int8 by int8"
sed 's/uint8\[1,4\] x/int8[1,4] x/' to_float.onnxtxt > signed.onnxtxt
echo '[[127, 127, -128, -128]]' > signed.json
both signed.onnxtxt -i x=signed.json

echo "DynamicQuantizeMatMul"
cat > dynamic.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
g (float[1,4] x) => (float[1,2] y)
<int8[4,2] w = {127, 1, 127, 1, 127, 1, 127, 1}, float step = {255}>
{ y = com.microsoft.DynamicQuantizeMatMul(x, w, step) }
END_OF_MODEL
both dynamic.onnxtxt -i x=floats.json

echo "QAttention: one token attends to itself, so the values come out"
cat > attention.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
g (uint8[1,1,4] x) => (float[1,1,2] y)
<int8[4,6] w = {0, 0, 0, 0, 127, 1, 0, 0, 0, 0, 127, 1, 0, 0, 0, 0, 127, 1, 0, 0, 0, 0, 127, 1}, float one = {1}, float[6] bias = {0, 0, 0, 0, 0, 0}>
{ y = com.microsoft.QAttention<num_heads = 1>(x, w, bias, one, one) }
END_OF_MODEL
echo '[[[255, 255, 255, 255]]]' > token.json
both attention.onnxtxt -i x=token.json

echo "DynamicQuantizeLSTM: identities for activations; X saturates at the first step, the state at the second"
cat > lstm.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>
g (float[2,1,2] x) => (float[2,1,1,2] y)
<int8[1,2,8] w = {127, 127, 0, 0, 0, 0, 0, 0, 127, 127, 0, 0, 0, 0, 0, 0},
 int8[1,2,8] r = {127, 127, 0, 0, 0, 0, 0, 0, 127, 127, 0, 0, 0, 0, 0, 0},
 float[1,16] b = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, float[1] step = {1}, int8[1] zero = {0}>
{
  y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 2, activations = ["Affine", "Affine", "Affine"]>(x, w, r, b, , , , , step, zero, step, zero)
}
END_OF_MODEL
echo '[[[255, 255]], [[0, 0]]]' > steps.json
both lstm.onnxtxt -i x=steps.json

echo "ConvInteger"
cat > conv.onnxtxt <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (uint8[1,4,1,1] x) => (int32[1,1,1,1] y) <int8[1,4,1,1] w = {127, 127, 127, 127}> { y = ConvInteger(x, w) }
END_OF_MODEL
echo '[[[[255]], [[255]], [[255]], [[255]]]]' > pixels.json
both conv.onnxtxt -i x=pixels.json
