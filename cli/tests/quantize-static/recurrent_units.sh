# Inputs of a recurrent layer of very unequal units: by the largest weights of a row nothing is left of the one that the large input meets.
model() {
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[1,batch,4] h)
<float[4] units = {$1, 1, 1, 1}, float[1,4,4] r = {0.1, 0.2, 0, 0, 0, 0.1, 0, 0.3, 0.1, 0, 0.2, 0, 0, 0, 0.1, 0.1},
 float[1,4,4] w = {0.002, 1.27, 0.3, -0.5, 0.003, -0.2, 1.27, 0.1, -0.0035, 1.27, -0.9, 0.1, 0.002, 0.7, 0.1, -1.27}, int64[1] zero = {0}>
{
    scaled = Mul (x, units)
    t = Unsqueeze (scaled, zero)
    ["rnn"] y, h = RNN <hidden_size = 4> (t, w, r)
}
MODEL
}
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
for unit in 300 1; do
    model $unit >m.onnxtxt
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -v 2>/dev/null | grep 'held out'
    onnxtool dump q.onnx -f text | grep -oE 'u?int[0-9]*\[[0-9,]*\] [wr]_quantized'
    onnxtool check q.onnx
done
echo '--- a few columns that the graph is given'
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[seq,batch,1] x) => (float[1,batch,4] h)
<float[1,4,4] r = {0.1, 0.2, 0, 0, 0, 0.1, 0, 0.3, 0.1, 0, 0.2, 0, 0, 0, 0.1, 0.1}, float[1,4,1] w = {0.002, 1.27, 0.3, -0.5}>
{
    ["rnn"] y, h = RNN <hidden_size = 4> (x, w, r)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q
onnxtool dump q.onnx -f text | grep -oE 'u?int[0-9]*\[[0-9,]*\] [wr]_quantized'
