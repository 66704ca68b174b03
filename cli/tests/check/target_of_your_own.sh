# A file is a target; what is wrong with one is told by line.
cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
agraph (float[2,3] X, int32[2] I) => (float[2,3] Y, int32[2] J)
{
    A = com.acme.Sparkle(X)
    Y = Relu(A)
    J = Neg(I)
}
X
cat > npu.target <<'X'
target npu 2 core  # comments end lines
origin the vendor's manual
ir 8
opset ai.onnx 17 7
op com.acme:Sparkle *
op Relu 6-14
op Neg 13 T=float32,float16
X
onnxtool check --target npu.target model.onnxtxt
echo "op Abs T=floaty" >> npu.target
onnxtool check --target npu.target model.onnxtxt
