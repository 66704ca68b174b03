# What a normalization makes lies around a middle, also where it is taken apart: its weights need not grow for pairs of extremes. Of what is
# divided by constants, as pictures are, all may be extremes.
for divisor in deviation constant; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 13]>
g (float[4,64] x) => (float[4,64] y)
<float constant = {2}, float epsilon = {0.00001}, float[64,64] w = {$(printf '1, %.0s' {1..4095})1}>
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
