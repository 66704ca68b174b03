# One loud channel: weights that meet it are scaled up, and the normalization takes the division in where products alone read it.
model() { # OUTPUTS
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,16] x) => (float[n,4] y$1)
<float[16] scale = {1, 1, 1, 1, 1, 40, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float[16] shift = {0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
 float[16,4] w = {0.31, -0.72, 0.13, 0.94, -0.55, 0.26, 0.87, -0.48, 0.19, 0.60, -0.91, 0.32, 0.73, -0.14, 0.45, -0.86, 0.27, 0.68, -0.99, 0.10,
                  0.111, -0.072, 0.083, 0.094, 0.35, -0.46, 0.57, -0.68, 0.79, 0.80, -0.21, 0.32, -0.43, 0.54, 0.65, -0.76, 0.87, -0.98, 0.09, 0.11,
                  0.22, 0.33, -0.44, 0.55, 0.66, -0.77, 0.88, 0.99, -0.12, 0.23, 0.34, -0.45, 0.56, 0.67, 0.78, -0.89, 0.91, -0.82, 0.73, 0.64,
                  -0.55, 0.46, 0.37, 0.28}>
{
    h = LayerNormalization (x, scale, shift)
    y = MatMul (h, w)
}
MODEL
}
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,16] a) => (float[n,16] x) { x = Identity (a) }\n' >id.onnxtxt
onnxtool run id.onnxtxt --random 2 --shape a=200x16 -o x.npz >/dev/null
for outputs in '' ', float[n,16] h'; do
    model "$outputs" >m.onnxtxt
    for method in 'rtn' 'awq --calibration x.npz'; do
        echo "--- $method"
        onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --block-size 16 --method $method | grep divided
        onnxtool check q.onnx
        onnxtool dump q.onnx -f text | grep -c '= Mul '
        onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=50x16 --require 'sqnr>=25' >/dev/null 2>&1; echo "25 dB: $?"
    done
done
