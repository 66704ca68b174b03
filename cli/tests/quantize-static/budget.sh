cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] hard = {1000, 1, 1, 1, 1, 1, 0.7, 1, 1, 0.3, 1, 1, 1, 1, 1, 1}>
{
    ["easy"] b = MatMul (x, a)
    ["hard"] c = MatMul (b, hard)
    y = Tanh (c)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
quantize() { onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration all.npz "$@" | grep -E '^float|of 2'; }
quantize
quantize --max-drop 10
# What is told is what was written.
onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration all.npz --max-drop 10 | grep -o 'samples held out: [0-9]*'
quantize --max-drop 1e-9 --metric cosine
quantize --max-drop 1 --metric top1
quantize --max-drop 0 --metric cosine
quantize --max-drop x
quantize --max-drop 35 --accuracy plain
echo "--- of up to twice as many samples as are kept those held out are judged by the ranges of the others, but for answers"
onnxtool run samples.onnxtxt --random 1 --shape a=100x4 -o all.npz >/dev/null
for budget in '10' '1 --metric top1'; do
    onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration all.npz --max-drop $budget | grep -o 'the budget is met by [^:]*'
done
