cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (int64 n, float[2] x) => (float[2] y, float[M, 2] all)
<bool go = {1}>
{
    y, all = Loop (n, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] s) {
        d = Identity (c)
        w = f.twice (v)
        s = Add (w, x)
    }>
}
<domain: "f", opset_import: ["" : 17]>
twice (a) => (b) { b = Add (a, a) }
X
echo 3 > n.json
echo '[1, 10]' > x.json
onnxtool run model.onnxtxt -i n=n.json -i x=x.json
echo 0 > n.json
onnxtool run model.onnxtxt -i n=n.json -i x=x.json
