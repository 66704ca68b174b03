# Gemm's alpha and beta go into its constants: onnxruntime's integer Gemm takes no beta. A weight that two Gemm use, one of them turned, has one
# scale: theirs would lie along different axes.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
try() { # nodes, command and options
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[3,4] x) => (float[3,4] y)\n<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}, float[4] b = {10, -20, 30, 40}>\n{\n%s\n}\n' "$1" >m.onnxtxt
    echo "--- $1 ${*:2}"
    onnxtool "${@:2}" m.onnxtxt -o q.onnx -q && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'alpha[^,]*|beta[^,]*|float(\[[0-9,]*\])? w_(transposed_)?scale |MatMulInteger'
    onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 12 >out && echo near
}
static='quantize-static --calibration all.npz --accuracy plain --per-channel'
for command in "$static" quantize-dynamic 'quantize-dynamic --weight-only int8 --block-size 16'; do
    try '["p"] y = Gemm <alpha = 0.5, beta = 2.0> (x, w, b)' $command
    try '["p"] y = Gemm <alpha = 3.0, beta = 5.0> (x, w)' $command
done
try '["p"] y = Gemm <alpha = 0.5, beta = 2.0> (x, w, x)' $static
try '["p"] m = Gemm (x, w) ["q"] y = Gemm <transB = 1> (m, w)' $static
try '["p"] m = Gemm (x, w) ["q"] y = Gemm (m, w)' $static
