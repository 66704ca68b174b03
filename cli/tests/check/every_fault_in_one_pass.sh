cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[N, 128] X, float[128, 10] W, float[10] B) => (float[N, 10] C)
{
    T = MatMul(X, W)
    S = Add(T, missing)
    [soft] C = Softmux(S)
    T = Relu(S)
    R = Transpose <permutation = [1, 0]> (later)
    later = LeakyRelu <alpha = 1> (S)
}
X
onnxtool check model.onnxtxt
