cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,2,3] x) => (float[1,2] y)
<float[2,1,1,2] cw = {1, -2, 0.5, 4}, float[2] cb = {0.25, -1}, float[2,8] gw = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8},
 float[2] gb = {10, 20}, float[2,2] mw = {1, 0, 0.125, -1}>
{
    ["conv"] c = Conv (x, cw, cb)
    ["flat"] f = Flatten (c)
    ["gemm"] h = Gemm <transB = 1> (f, gw, gb)
    ["product"] y = MatMul (h, mw)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx -v
onnxtool check q.onnx
onnxtool dump q.onnx -f text
onnxtool quantize-dynamic m.onnxtxt -o q2.onnx -t 1 && cmp q.onnx q2.onnx
echo --- per channel, reduced
onnxtool quantize-dynamic m.onnxtxt -o pc.onnx --per-channel --reduce-range --nodes 'prod*'
onnxtool dump pc.onnx -f text | grep -E 'mw_|Gemm|Conv'
