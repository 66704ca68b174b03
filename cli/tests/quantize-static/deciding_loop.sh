# A loop that feeds back the largest of what it computed: rounded values may choose another one, and all that follows is another thing.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {0.5, 0.501, 0.502, 0.503, 0.5, 0.499, 0.498, 0.497, 0.4, 0.401, 0.4, 0.399, 0.3, 0.299, 0.301, 0.3},
 int64 n = {4}, bool t = {1}, int64[1] one = {1}, float[4,4] rows = {9, 0, 0, 1, 0, 9, 1, 0, 0, 2, 9, 0, 0, 3, 0, 9}>
{
    ["first"] h = MatMul (x, a)
    ["loop"] y = Loop (n, t, h) <
        body = lb (int64 k, bool go, float[batch,4] s) => (bool go2, float[batch,4] s2) {
            go2 = Identity (go)
            ["step"] m = MatMul (s, b)
            i = ArgMax <axis = 1, keepdims = 0> (m)
            s2 = Gather (rows, i)
        }
    >
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt --nodes '*' -o q.onnx --calibration all.npz -v 2>/dev/null
onnxtool check q.onnx
