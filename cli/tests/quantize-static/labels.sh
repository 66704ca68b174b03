cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] hard = {1000, 1, 1, 1, 1, 1, 0.7, 1, 1, 0.3, 1, 1, 1, 1, 1, 1}>
{
    ["easy"] b = MatMul (x, a)
    ["hard"] y = MatMul (b, hard)
}
MODEL
cat >samples.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] a) => (float[batch,4] x, int64[batch] labels, int64[few] few) <int64[1] start = {0}, int64[1] end = {7}>
{ x = Identity (a) labels = ArgMin <axis = 1, keepdims = 0> (a) few = Slice (labels, start, end) }
MODEL
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --outputs x -o x.npy >/dev/null
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --outputs labels -o labels.npy >/dev/null
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --outputs few -o few.npy >/dev/null
quantize() { onnxtool quantize-static --per-tensor m.onnxtxt -o "$@" --max-drop 0.05 --metric top1 | grep -E 'of 2'; }
quantize float.onnx --calibration x.npy
quantize right.onnx --calibration x.npy --labels labels.npy
onnxtool quantize-static --per-tensor m.onnxtxt --calibrate-only --calibration x.npy --labels labels.npy --table t.json
quantize again.onnx --table t.json
cmp right.onnx again.onnx && echo same
quantize few.onnx --calibration x.npy --labels few.npy
quantize none.onnx --calibration x.npy --labels x.npy
