# The last two units of the second layer are always 0: what is rounded up and down cancels among the other three.
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 1] x) => (float[n, 1] z)
<float[1, 3] w1 = {1, 2, 3}, float[3, 5] w2 = {1, 2, 3, 1, -9, 1, 2, 3, -9, 1, 1, 2, 3, 1, 1},
 float[5, 1] w3 = {127, 10.4, 20.4, 5.6, 7.6}>
{
  a = MatMul(x, w1)
  b = Relu(a)
  c = MatMul(b, w2)
  d = Relu(c)
  z = MatMul(d, w3)
}
END
onnxtool quantize-dynamic m.onnxtxt -o q.onnx > report.txt
onnxtool dump q.onnx --tensor w3_quantized | tail -n 1
# Without that each is rounded to the nearest.
onnxtool quantize-dynamic m.onnxtxt -q --accuracy plain -o q.onnx
onnxtool dump q.onnx --tensor w3_quantized | tail -n 1
onnxtool quantize-dynamic m.onnxtxt -q --accuracy best -o q.onnx 2>&1 | head -n 1
