# What is computed from operands that do not broadcast is not known; nothing is read beyond the shorter one.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[A,B,C,D,E,F,G,H] y) <int64[2] a = {1, 2}, int64[4,2] b = {1,1,1,1,1,1,1,1}, int64[8] c = {1,1,1,1,1,1,1,1}> {
    s = Sub(a, c)
    t = Add(c, a)
    u = Add(b, c)
    y = Expand(x, t)
}
M
onnxtool shape-infer m.onnxtxt
