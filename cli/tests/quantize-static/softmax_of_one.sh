# Attention to one token: onnxruntime's softmax on integers makes 0 of a single element. It stays in float, moved or not; a softmax of more does not.
model() { # TOKENS OPSET AXIS
    cat <<MODEL
<ir_version: 8, opset_import: ["" : $2]>
g (float[1,2,$1,8] q, float[1,2,8,$1] k, float[1,2,$1,8] v) => (float[1,2,$1,8] y)
{
    scores = MatMul (q, k)
    p = Softmax <axis = $3> (scores)
    ["context"] y = MatMul (p, v)
}
MODEL
}
for what in "1 17 -1" "1 11 3" "4 17 -1"; do
    # shellcheck disable=SC2086
    model $what >m.onnxtxt
    rm -rf data && mkdir data
    for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data | grep -E "context|nodes quantized"
    onnxtool dump q.onnx -f text | grep -c "p_q = QuantizeLinear"
done
