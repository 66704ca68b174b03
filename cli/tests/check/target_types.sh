# The CPU provider has no half precision convolution and runs it between casts; complex numbers it does not take at all.
cat > half.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
agraph (float16[1,3,8,8] X, float16[4,3,3,3] W) => (float16[1,4,6,6] Y)
{
    Y = Conv(X, W)
}
X
cat > complex.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
agraph (double[2,3] X, int8[2,3] Z) => (double[2,2] Y, int8[2,3] R)
{
    A = Transpose <perm: ints = [1, 0]> (X)
    Y = MatMul(X, A)
    [signs] R = Sqrt(Z)
}
X
onnxtool check --target onnxruntime=1.16 half.onnxtxt
onnxtool check --target onnxruntime=1.16 complex.onnxtxt
