cat > model.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
agraph (float[2,3] X) => (float[2,3] Y)
{
    [activation] A = Gelu(X)
    Y = Relu(A)
}
X
onnxtool check -f json --target onnxruntime=1.16 --target onnxruntime:nnapi --min-target model.onnxtxt
