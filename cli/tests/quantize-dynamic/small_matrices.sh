# A small matrix of long columns becomes uint8, which runtimes add exactly, where its scales would grow; a larger one keeps int8, unless
# they would grow much more than they do of most.
weights() { # of columns: pairs of all but so many cancel
    awk -v n="$1" -v bad="$2" 'BEGIN { for (k = 0; k < 64; k++) for (j = 0; j < n; j++) printf "%s%d", (k + j ? ", " : ""), (j >= bad && k % 2 ? -1 : 1) * (1 + k) }'
}
for how in '63 1' '64 1' '64 32'; do
    n=${how% *}
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,64] x) => (float[4,$n] y)
<float[64,$n] w = {$(weights $how)}>
{
    y = MatMul (x, w)
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -f json | grep '"most_widened"'
    onnxtool dump q.onnx -f text | grep -oE '[< ]u?int8\[[0-9,]*\] w_quantized'
done
