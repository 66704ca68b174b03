# What several nodes compute alike is computed once, and equal sizes are stored once; what a body reads stays as it is.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x, bool c) => (float[n,4] y, float[4,n] z)
<float[4,4] w = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, int64[1] a = {1}, int64[1] b = {1}, int64[1] d = {2}, int64[1] e = {1}, int64[3] s = {1, -1, 4}, int64[2] t = {4, -1}>
{
    ["one"] u = Unsqueeze (x, a)
    ["two"] v = Unsqueeze (x, b)
    ["three"] k = Unsqueeze (x, d)
    ["add"] p = Add (u, v)
    ["flat"] q = Squeeze (p, e)
    ["product"] m = MatMul (q, w)
    ["if"] y = If (c) <
        then_branch = t () => (float[n,4] f) { uu = Unsqueeze (m, b) f = Squeeze (uu, a) },
        else_branch = f () => (float[n,4] h) { h = Identity (m) }
    >
    z = Reshape (k, t)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -E 'Unsqueeze|Squeeze|Reshape|int64'
onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x4 --rtol 0.1 --atol 0.5 >out && echo near
