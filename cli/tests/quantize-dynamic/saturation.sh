# Neighbours of a sum saturate together where there is no VNNI: of a product along what is summed. ConvInteger is exact.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2,1,2] x) => (float[2,2] y, float[1,1,2,2] h)
<float[2,2,1,2] kernel = {1, 1, 1, 1, 0.1, 0, 0, 0}, float[2,2] rows = {1, 1, 0, 0.1}, float[2,2] columns = {1, 1, 0, 0.1}, float[2,2] below = {0.1, 1, 0.7, 0.9}, int64[2] flat = {-1, 2},
 int64[1] zero = {0}, int64[1] two = {2}, int64[3] steps = {1, 2, 2}, float[1,8,2] w = {1, 0, 0, 1, 0.6, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, float[1,8,2] r = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}>
{
    ["a"] a = Conv <pads = [0, 0, 0, 1]> (x, kernel)
    ["b"] b = Reshape (a, flat)
    ["c"] c = Gemm <transB = 1> (b, rows)
    ["d"] d = MatMul (c, columns)
    ["e"] e = MatMul (d, below)
    ["f"] f = Slice (e, zero, two)
    ["g"] s = Reshape (f, steps)
    ["h"] h = LSTM <hidden_size = 2> (s, w, r)
    ["i"] y = Identity (f)
}
MODEL
show() {
    echo "--- $*"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx "$@" -f json >report.json || return
    grep -E '"(name|kind|saturates)"' report.json | paste - - - | grep 'weight.*true' | grep -o '"name": "[a-z_]*"'
    grep -oE '"(saturating|widened)_weights": [0-9]*|"most_widened": .*|weights (whose|with).*[^",]' report.json
}
show --processor exact
show --processor exact --contrib
show
show --contrib
show --compat ort
show --reduce-range
show --weight-type quint8
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --processor exact --report r.html
grep -o '<p>Products[^<]*' r.html
show --processor avx2-saturating
onnxtool dump q.onnx --tensor rows_transposed_quantized | tail -n 1
onnxtool dump q.onnx --tensor kernel_quantized | tail -n 1
show --processor avx2-saturating --per-channel --contrib
show --processor avx2-saturating --weight-type quint8
show --processor avx2-saturating --reduce-range
show --processor avx2-saturating --compat ort
show --processor avx2-saturating --weight-only int8
