# Columns of 64 rows have a scale each without --per-channel, shorter ones do not.
rows() { # COUNT
    for ((i = 1; i <= $1; i++)); do printf '%s%d, %d' "$([ "$i" = 1 ] || echo ', ')" "$((i % 7 - 3))" "$((40 * (i % 5 - 2)))"; done
}
cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,64] x, float[1,63] u) => (float[1,2] y, float[1,2] v)
<float[64,2] long = {$(rows 64)}, float[63,2] short = {$(rows 63)}>
{
    ["a"] y = MatMul (x, long)
    ["b"] v = MatMul (u, short)
}
MODEL
for way in '' --per-channel '--compat ort' '--weight-type quint8'; do
    echo "--- $way"
    # shellcheck disable=SC2086
    onnxtool quantize-dynamic -q m.onnxtxt -o q.onnx $way
    onnxtool check q.onnx
    onnxtool dump q.onnx -f text | grep -oE '(float|u?int8)[^ ]* (long|short)_(scale|zero_point)|= MatMulInteger.*'
done
