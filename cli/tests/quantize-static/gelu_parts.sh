# Gelu in parts between convolutions: two of its nodes read what one DequantizeLinear makes, and onnxruntime sees that they do only if it
# is not that which they read.
model() { # what the parts are of
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,2,4,4] x) => (float[n,2,4,4] y)
<float[2,2,1,1] a = {1, 0.5, -0.3, 0.7}, float[2,2,1,1] b = {0.3, 0.2, 0.9, -0.4}, float root = {1.4142135}, float inverse = {0.70710677}, float one = {1}, float half = {0.5}>
{
    h = Conv (x, a)
    $1
    e = Erf (d)
    s = Add (e, one)
    m = Mul (h, s)
    gelu = Mul (m, half)
    y = Conv (gelu, b)
}
MODEL
}
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2,4,4] a) => (float[n,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz -q
for d in 'd = Div (h, root)' 'd = Mul (inverse, h)'; do
    model "$d" >m.onnxtxt
    for format in qdq qoperator; do
        onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --quant-format $format -q 2>/dev/null
        onnxtool check --full q.onnx
        onnxtool dump q.onnx -f text | grep -E '= (Sum|Div|Mul|Erf)' | sed 's/^ *//'
        onnxtool parity q.onnx m.onnxtxt -i all.npz --rtol 0 --atol 0.1 >/dev/null && echo near
    done
done
echo '--- as onnxruntime writes it'
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --compat ort -q 2>/dev/null
onnxtool dump q.onnx -f text | grep '= Sum' || echo none
