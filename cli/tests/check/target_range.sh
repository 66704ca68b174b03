# Each release of a range; attributes that kernels refuse.
cat > model.onnxtxt <<'X'
<ir_version: 7, opset_import: ["" : 14]>
agraph (float[2,5,3] X, float[1,16,3] W, float[1,16,4] R) => (float[2,5,1,4] Y)
{
    [recurrent] Y = LSTM <hidden_size: int = 4, layout: int = 1> (X, W, R)
}
X
onnxtool check --target "onnxruntime>=1.8,<=1.9" model.onnxtxt
