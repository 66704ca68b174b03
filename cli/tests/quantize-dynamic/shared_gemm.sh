# Steps of an unrolled decoder share the weight of their Gemm: its integers are stored once, by scales that serve the largest that any of
# them meets, here what comes into the graph.
weights=$(awk 'BEGIN { for (j = 0; j < 64; j++) for (k = 0; k < 64; k++) printf "%s%d", (k + j ? ", " : ""), (j && k % 2 ? -1 : 1) }')
cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,64] x) => (float[4,64] y)
<float[64] one = {$(printf '1, %.0s' {1..63})1}, float[64,64] w = {$weights}>
{
    n = LayerNormalization (x, one)
    a = Gemm <transB = 1> (n, w)
    b = Gemm <transB = 1> (x, w)
    y = Add (a, b)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx -f json | grep '"most_widened"'
onnxtool dump q.onnx -f text | grep -oE '[< ]int8\[[0-9,]*\] [a-z_]*'
onnxtool parity q.onnx m.onnxtxt --random 1 --require 'sqnr>=35' >/dev/null && echo near
