# NonZero's neighbours run on the other device: two pieces, two copies; --require-full makes that a no.
cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[1,1,8,8] X, float[1,1,8,8] W) => (float[1,1,8,8] Y)
{
    [first] A = MatMul(X, W)
    [slow] B = Det(A)
    [wide] C = MaxUnpool <kernel_shape: ints = [2, 2]> (A, A)
    [last] Y = Add(A, B)
}
X
onnxtool check --target onnxruntime=1.16:cuda model.onnxtxt
echo "exit $?"
onnxtool check --target onnxruntime=1.16:cuda --require-full -q model.onnxtxt
