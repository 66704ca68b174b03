# Opset, IR and an operator are too new for the one, fine for the other; the nearest way down is by the function body.
cat > model.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 20]>
agraph (float[2,3] X) => (float[2,3] Y)
{
    [activation] A = Gelu(X)
    [norm] Y = Relu(A)
}
X
cp model.onnxtxt "it's a model.onnxtxt"
onnxtool check --target onnxruntime=1.14 "it's a model.onnxtxt" | tail -n 1
onnxtool check --target onnxruntime=1.14 --target onnxruntime=1.20.1 --min-target model.onnxtxt
