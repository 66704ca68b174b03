# Weights of recurrent layers are computed with in float: they keep their range but in DynamicQuantizeLSTM.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,1] x) => (float[1,1,1] h, float[1,1,1] k)
<float[1,4,1] w = {1, 0.5, -1, 0}, float[1,4,1] r = {1, 0.5, -1, 0}, float[1,3,1] v = {1, 0.5, -1}, float[1,3,1] s = {1, 0.5, -1}, float[1,1] m = {1}>
{
    ["a"] y = MatMul (x, m)
    ["b"] z, h = LSTM <hidden_size = 1> (y, w, r)
    ["c"] u, k = GRU <hidden_size = 1> (y, v, s)
}
MODEL
show() {
    echo "--- $*"
    onnxtool "$@" -q
    onnxtool dump q.onnx -f text | grep -oE 'u?int8\[[0-9,]*\] [a-z]_quantized = \{[^}]*\}'
}
show quantize-dynamic m.onnxtxt -o q.onnx --reduce-range
show quantize-dynamic m.onnxtxt -o q.onnx --reduce-range --contrib
show quantize-dynamic m.onnxtxt -o q.onnx --reduce-range --compat ort
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,1,1,1] a) => (float[batch,1,1,1] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x1x1x1 -o all.npz >/dev/null
show quantize-static m.onnxtxt -o q.onnx --calibration all.npz --reduce-range --accuracy plain
