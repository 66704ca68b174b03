# A small matrix of long columns becomes uint8, which runtimes add exactly, where its scales would grow; a larger one keeps int8, unless
# they would grow much more than they do of most and it is little of the model's work.
weights() { # ROWS COLUMNS BAD: pairs cancel in all columns but so many
    awk -v m="$1" -v n="$2" -v bad="$3" 'BEGIN { for (k = 0; k < m; k++) for (j = 0; j < n; j++) printf "%s%d", (k + j ? ", " : ""), (j >= bad && k % 2 ? -1 : 1) * (1 + k) }'
}
for how in '63 1' '64 1' '64 32' '64 32 more'; do
    read -r n bad more <<<"$how"
    x=x before=''
    [ -z "$more" ] || x=b before='a = MatMul (x, wide) b = MatMul (a, narrow)'
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,64] x) => (float[4,$n] y)
<float[64,$n] w = {$(weights 64 "$n" "$bad")}, float[64,256] wide = {$(weights 64 256 0)}, float[256,64] narrow = {$(weights 256 64 0)}>
{
    $before
    y = MatMul ($x, w)
}
MODEL
    echo "--- $how"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -f json | grep '"most_widened"'
    onnxtool dump q.onnx -f text | grep -oE '[< ]u?int8\[[0-9,]*\] w_quantized'
done
