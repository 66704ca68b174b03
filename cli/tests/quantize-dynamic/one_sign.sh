# Rounding errors of an output's weights cancel where what they multiply is of one sign, or nearly: behind clipping from 0, a slight
# slope, and averages of what gates let through. Else each weight is rounded to the nearest.
try() {
    printf '<ir_version: 10, opset_import: ["" : 20]>\ng (float[n,4,2] x) => (float[n,1] y) <float zero = {0}, float one = {-1}, float[4,1] w = {127, 1.4, 1.3, 1.4}> { %s y = MatMul (f, w) }\n' "$2" >m.onnxtxt
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q
    echo "$1: $(onnxtool dump q.onnx -f text | grep -oE 'int8\[4,1\] w[^}]*}')"
}
average='m = GlobalAveragePool (a) f = Flatten (m)'
try 'ReLU6' "a = Clip (x, zero) $average"
try 'from -1' "a = Clip (x, one) $average"
try 'a slight slope' "a = LeakyRelu <alpha = 0.1> (x) $average"
try 'half' "a = LeakyRelu <alpha = 0.5> (x) $average"
try 'HardSwish' "a = HardSwish (x) $average"
try 'SiLU' "s = Sigmoid (x) a = Mul (x, s) $average"
try 'squeeze and excitation' "r = Relu (x) c = GlobalAveragePool (x) s = HardSigmoid (c) a = Mul (r, s) $average"
try 'gates of anything' "c = GlobalAveragePool (x) s = HardSigmoid (c) a = Mul (x, s) $average"
try 'no average' "a = HardSwish (x) m = GlobalMaxPool (a) f = Flatten (m)"
