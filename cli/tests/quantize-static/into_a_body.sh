# onnxruntime carries Q and DQ through Transpose, Reshape and their like to what reads them, and ends where that is a body: such nodes read
# what is not rounded, and a table has a scale a row, which Cast and Mul undo.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[4] i, float[1,2,4,4] x, bool yes) => (float[16,2] q, float[N] y, float[M] z)
<float[3,2] table = {1, 2, 3, 4, 5, 6}, float[2,2,1,1] w = {1, -2, 3, 0.5}, float[2,2] v = {1, 2, -3, 4}, int64[2] rows = {16, 2}, int64[1] all = {-1}>
{
    ["lookup"] g1 = Gather (table, i)
    ["turn"] g2 = Transpose <perm = [1, 0]> (g1)
    ["conv"] h = Conv (x, w)
    ["clip"] r = Relu (h)
    ["last"] t = Transpose <perm = [0, 2, 3, 1]> (r)
    ["flat"] f = Reshape (t, rows)
    ["product"] q = MatMul (f, v)
    ["either"] y, z = If (yes) <
        then_branch = a () => (float[N] y1, float[M] z1) { y1 = Reshape (g2, all) n = Neg (f) z1 = Reshape (n, all) },
        else_branch = b () => (float[N] y2, float[M] z2) { z2 = Reshape (g2, all) y2 = Reshape (t, all) }
    >
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool dump q.onnx -f text | grep -E '\[turn\]|Dequant|Cast|Gather'
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data && onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -E '\[(turn|clip|last|flat|product)\]'
onnxtool parity q.onnx m.onnxtxt --test-data data/test_data_set_1 --require 'sqnr>=25' >/dev/null && echo near
