# What a normalization makes lies around a middle, also where it is taken apart: its weights need not grow for pairs of extremes. Of what is
# divided by constants, as pictures are, all may be extremes.
# One column of ones among others whose pairs cancel: matrices all of whose scales grow become uint8 instead.
weights=$(awk 'BEGIN { for (k = 0; k < 64; k++) for (j = 0; j < 64; j++) printf "%s%d", (k + j ? ", " : ""), (j && k % 2 ? -1 : 1) }')
for divisor in deviation constant; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 13]>
g (float[4,64] x) => (float[4,64] y)
<float constant = {2}, float epsilon = {0.00001}, float[64,64] w = {$weights}>
{
    mean = ReduceMean <axes = [-1]> (x)
    centered = Sub (x, mean)
    square = Mul (centered, centered)
    variance = ReduceMean <axes = [-1]> (square)
    positive = Add (variance, epsilon)
    deviation = Sqrt (positive)
    n = Div (centered, $divisor)
    y = MatMul (n, w)
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -f json | grep '"most_widened"'
done
