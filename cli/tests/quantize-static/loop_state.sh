# A weight that a loop hands on from turn to turn would be quantized in each of them: its product stays in float.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x) => (float[1,2] y, float[1,2] z)
<float[4,2] w = {1, -2, 0.5, 3, -1, 0.25, 2, 1}, int64 turns = {3}, bool always = {1}, int64[1] two = {2}, int64[1] zero = {0}>
{
    y, last = Loop (turns, always, x, w) <body = turn (int64 i, bool c, float[1,2] h, float[4,2] v) => (bool d, float[1,2] k, float[4,2] u) {
        d = Identity (c)
        part = Slice (v, zero, two)
        p = MatMul (h, part)
        k = Tanh (p)
        u = Identity (v)
    }>
    head = Slice (last, zero, two)
    z = MatMul (y, head)
}
MODEL
mkdir data
onnxtool run m.onnxtxt --random 1 -q --save-test-data data/test_data_set_0 >/dev/null
onnxtool quantize-static m.onnxtxt -v -o q.onnx --calibration data 2>/dev/null | grep -E '^(float|quantized)'
onnxtool check -q q.onnx
