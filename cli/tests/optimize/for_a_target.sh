# Down to what the target takes, a part of the model, and halves at its ends; what a target refuses is not written.
printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,4] x) => (float[N,4] y, float[N,4] z) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float[4] b = {1,2,3,4}, float[4] c = {2,2,2,2}> {
  m = MatMul(x, w)
  s = Mul(m, c)
  a = Add(s, b)
  y = Gelu(a)
  z = Neg(y)
}' > new.txt
onnxtool optimize new.txt --for onnxruntime=1.16 -o old.onnx
onnxtool check --target onnxruntime=1.16 old.onnx
onnxtool optimize new.txt --extract x:a -o part.onnx
onnxtool dump -f text part.onnx
onnxtool optimize new.txt --fp16 --half-io --extract x:a -o half.onnx
onnxtool check --full half.onnx
onnxtool dump -f text half.onnx
onnxtool optimize new.txt --half-io
printf '<ir_version: 10, opset_import: ["" : 21, "com.acme" : 1]> g (float[N] x) => (float[N] y) { y = com.acme.Own(x) }' > own.txt
onnxtool optimize own.txt --for onnxruntime=1.16 -o own.onnx || echo "exit $?"
test -e own.onnx || echo "nothing written"
