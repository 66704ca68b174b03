# Halves only where the target has kernels: onnxruntime's CPU adds up no float16 in ScatterElements, and multiplies no bfloat16.
cat > m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 18]>
g (float[4,4] x, int64[2,4] i, float[2,4] u) => (float[4,4] y)
<float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}>
{
    s = ScatterElements <axis = 0, reduction = "add"> (x, i, u)
    m = MatMul (s, w)
    y = Tanh (m)
}
M
onnxtool optimize m.onnxtxt --fp16 --level 1 -o half.onnx
onnxtool dump -f text half.onnx | grep "Scatter\|MatMul"
onnxtool optimize m.onnxtxt --bf16 --level 1 -o half.onnx
onnxtool dump -f text half.onnx | grep "Scatter\|MatMul"
onnxtool optimize m.onnxtxt --bf16 --level 1 --for onnxruntime:cuda -o half.onnx
onnxtool dump -f text half.onnx | grep "Scatter\|MatMul"
cat > old.onnxtxt <<'M'
<ir_version: 6, opset_import: ["" : 11]> g (float[4] x) => (float[4] y) { y = Tanh (x) }
M
onnxtool optimize old.onnxtxt --bf16 -o half.onnx || echo "exit $?"
