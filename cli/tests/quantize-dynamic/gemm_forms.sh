# Gemm whose first input is transposed, and whose last is computed and has a factor; of float16 too.
for type in float float16; do
    echo "--- $type"
    cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : 17]>
g ($type[4,3] x, $type[3,2] c) => ($type[3,2] a, $type[3,2] b, $type[3,2] d)
<float[4,2] wide_w = {1, -2, 3, 0.5, -1, 2, 0.25, 1}, float[2] wide_bias = {1, 2}>
{
    w = Cast <to = $([ $type = float ] && echo 1 || echo 10)> (wide_w)
    bias = Cast <to = $([ $type = float ] && echo 1 || echo 10)> (wide_bias)
    ["plain"] a = Gemm <transA = 1> (x, w, bias)
    ["computed"] b = Gemm <transA = 1, alpha = 0.5, beta = 2.0> (x, w, c)
    ["none"] d = Gemm <transA = 1, beta = 0.0> (x, w, c)
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '= (MatMulInteger|Transpose|Mul|Add|Gemm|Cast)' | sort | uniq -c
    onnxtool parity q.onnx m.onnxtxt --random 2 --atol 0.2 --rtol 0 >/dev/null && echo near
done
