# Tables that Gather reads and weights of recurrent layers have the 16 bits that weights were asked for.
cat >m.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (int64[n,1] ids) => (float[n,1,40] rows, float[n,1,2] entries, float[1,1,1] h)
<float[2,40] t = {0.16, 0.85, 0.96, 0.70, 0.33, 0.68, 0.65, 0.55, 0.37, 0.80, 0.89, 0.13, 0.78, 0.87, 0.95, 0.60, 0.71, 0.32, 0.24, 0.24, 0.15, 0.31, 0.47, 0.49, 0.25, 0.48, 0.85, 0.45, 0.47, 0.55, 0.78, 0.94, 0.22, 0.85, 0.99, 0.38, 0.44, 0.39, 0.10, 0.70,
 -0.9, 0.085, 0.96, 0.70, 0.33, 0.68, 0.65, 0.55, 0.37, 0.080, 0.089, 0.13, 0.78, 0.087, 0.95, 0.60, 0.71, 0.32, 0.24, 0.24, 0.15, 0.31, -0.47, -0.49, 0.25, -0.48, 0.085, -0.45, -0.47, 0.55, 0.78, 0.94, 0.22, 0.085, 0.99, 0.38, -0.44, 0.39, 0.10, 0.70},
 float[2,2] s = {1, 0.3, -0.7, 0.1}, float[1,4,2] w = {1, 0.3, -0.7, 0.1, 0.6, -0.4, 0.9, 0.2}, float[1,4,1] r = {1, 0.3, -0.7, 0.1}>
{
    ["a"] rows = Gather (t, ids)
    ["b"] entries = Gather (s, ids)
    ["c"] y, h = LSTM <hidden_size = 1> (entries, w, r)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[n,1] a) => (int64[n,1] ids) { ids = Identity (a) }\n' >ids.onnxtxt
printf '[[0], [1], [1], [0]]' >ids.json
onnxtool run ids.onnxtxt -i a=ids.json -o all.npz -q
for wide in 'qint16 --activation-type qint16' 'quint16 --activation-type quint16'; do
    # shellcheck disable=SC2086
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz -q --weight-type $wide
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'u?int[0-9]*\[[0-9,]*\] [a-z]_quantized'
    onnxtool parity q.onnx m.onnxtxt -i ids=ids.json --rtol 1e-4 --atol 1e-4 >/dev/null && echo near
done
