# A sum before a normalization, whole or taken apart, is written as Sum, which onnxruntime does not merge into its slow SkipLayerNormalization;
# other sums and those of a constant stay as they are, and so does all that --compat ort writes.
cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,4,8] x, int64[2,4,8] k) => (float[2,4,8] y, float[2,4,8] c, int64[2,4,8] t)
<float[8] one = {$(printf '1, %.0s' {1..7})1}, float[8] bias = {$(seq -s ', ' 1 8)}, float[8,8] w = {$(seq -s ', ' 1 64)}>
{
    m = MatMul (x, w)
    whole = Add (m, x)
    n = LayerNormalization (whole, one)
    parts = Add (n, x)
    mean = ReduceMean <axes = [-1]> (parts)
    c = Sub (parts, mean)
    biased = Add (c, bias)
    b = LayerNormalization (biased, one)
    y = Add (b, x)
    integers = Add (k, k)
    middle = ReduceMean <axes = [-1]> (integers)
    t = Sub (integers, middle)
}
MODEL
mkdir data
for k in 1 2 3; do onnxtool run m.onnxtxt --random $k -q --save-test-data data/test_data_set_$k >/dev/null; done
for how in '' '--compat ort'; do
    echo "--- $how"
    # shellcheck disable=SC2086
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q $how && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '(whole|parts|biased|y|integers) = (Add|Sum)'
    onnxtool parity q.onnx m.onnxtxt --random 1 --require 'sqnr>=25' >/dev/null && echo near
done
echo "--- static"
onnxtool quantize-static m.onnxtxt -o q.onnx -q --calibration data && onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE '(whole|parts|biased|y|integers) = (Add|Sum)'
