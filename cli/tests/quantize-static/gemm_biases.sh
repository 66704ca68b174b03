# What a Gemm or a product's Add adds may be one value for all columns, a row [1, n], or a matrix: scales a column ask for a row. onnxruntime
# joins MatMul and Add of [1, n], as converters of scikit-learn write them, and then asks for a bias of integers.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
try() { # MODEL's initializer, its nodes, options
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[3,4] x) => (float[3,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}, %s>\n{\n%s\n}\n' "$1" "$2" >m.onnxtxt
    echo "--- $1 ${*:3}"
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -q "${@:3}" && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'int32(\[[0-9,]*\])? b_q(uantized)? '
    onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 2 >out && echo near
}
for bias in 'float[1] b = {0.5}' 'float b = {0.5}' 'float[1,1] b = {0.5}' 'float[1,4] b = {1, -2, 3, 4}' 'float[3,1] b = {1, 2, 3}' \
    'float[3,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}'; do
    try "$bias" '["p"] y = Gemm (x, w, b)' --per-channel
done
try 'float[3,1] b = {1, 2, 3}' '["p"] y = Gemm (x, w, b)' --per-tensor
try 'float[1,4] b = {1, -2, 3, 4}' '["p"] m = MatMul (x, w) ["a"] y = Add (m, b)' --per-tensor
try 'float[1,4] b = {1, -2, 3, 4}' '["p"] m = MatMul (x, w) ["a"] y = Add (m, b)' --per-channel --quant-format qoperator
# One column has one scale, per tensor.
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[3,4] x) => (float[3,1] y) <float[4,1] w = {1, 2, 3, 4}, float[1] b = {1}> { ["p"] y = Gemm (x, w, b) }\n' >m.onnxtxt
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -q --per-channel && onnxtool dump q.onnx -f text | grep -oE '[a-z0-9]+(\[[0-9,]*\])? (w_scale|b_scale) '
