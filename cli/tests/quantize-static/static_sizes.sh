# onnxruntime joins MatMul and Add into Gemm where all sizes are known, or of matrices, and its integer Gemm asks for a bias of
# integers; an activation that then follows takes floats. Elsewhere the bias stays float.
model() { # SIZES OF X, SIZES OF Y
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[$1] x) => (float[$2] y)
<float[3,2] w = {1, -2, 3, 0.5, 0.25, -1}, float[2] b = {0.5, -0.25}>
{
    ["product"] p = MatMul (x, w)
    ["bias"] s = Add (p, b)
    ["activation"] y = Tanh (s)
}
MODEL
}
model 2,4,3 2,4,2 >known.onnxtxt
model N,4,3 N,4,2 >batch.onnxtxt
model N,3 N,2 >matrix.onnxtxt
for m in known batch matrix; do
    shape=x=2x4x3
    [ $m = matrix ] && shape=x=4x3
    for i in 1 2 3; do
        mkdir -p $m/test_data_set_$i
        onnxtool run $m.onnxtxt --random $i --shape $shape -o $m/test_data_set_$i/ --outputs x >/dev/null 2>&1
        mv $m/test_data_set_$i/output_0.pb $m/test_data_set_$i/input_0.pb
    done
    echo "$m:"
    onnxtool quantize-static $m.onnxtxt -q --accuracy plain -o q.onnx --calibration $m
    onnxtool check --full -q q.onnx
    onnxtool dump q.onnx -f text | grep -o '[a-zA-Z]* ([a-z].*)$' | tail -n +2
done
