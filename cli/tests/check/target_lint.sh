# Only the version stands against it: advice with --lint. Where an operator is missing there is none.
cat > relu.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
agraph (float[batch,3] X) => (float[batch,3] Y)
{
    Y = Relu(X)
}
X
sed 's/Relu/Gelu/' relu.onnxtxt > gelu.onnxtxt
onnxtool check --lint --target onnxruntime=1.16 relu.onnxtxt
onnxtool check --lint --target onnxruntime=1.16 gelu.onnxtxt
