cat > f.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2,3] x, int64[2,4] p, bool[3] b, optional(float[n]) o, seq(float[2,k]) s, uint8[2] u, float16[2] h, float[1] w) => (float[2,3] X, int64[2,4] P, bool[3] B, optional(float[n]) O, seq(float[2,k]) S, uint8[2] U, float16[2] H, float[1] W)
<float[1] w = {7}>
{ X = Identity(x) P = Identity(p) B = Identity(b) O = Identity(o) S = Identity(s) U = Identity(u) H = Identity(h) W = Identity(w) }
X
echo "--- optionals and sequences are drawn too"
onnxtool run f.onnxtxt --random 1
echo "--- as told; a name goes before all"
onnxtool run f.onnxtxt --random 1 --fill x=2 --fill 0:1 --fill p=count --fill b=1 --fill o=3 --fill s=4:4 --shape s=2x3 --shape o=4 --fill u=250:255 --fill w=9
onnxtool run f.onnxtxt --random 1 --fill x=2 --fill 0:1 > a && onnxtool run f.onnxtxt --random 1 --fill 0:1 --fill x=2 | cmp - a && echo "in any order"
onnxtool parity f.onnxtxt f.onnxtxt --random 1 --fill x=1 --fill o=2 | tail -1
echo "--- refused"
for fill in u=300 u=-1 u=0:1.5 b=2 x=nan x=3:1 y=1 x=a x=1e300:-1e300 x= =1; do onnxtool run f.onnxtxt --random 1 --fill $fill 2>&1; done
onnxtool run f.onnxtxt --fill 1 2>&1
onnxtool run f.onnxtxt --random 1 --shape o=3x4 2>&1
onnxtool run f.onnxtxt --random 1 --save-test-data t -q && onnxtool run f.onnxtxt --random 1 -i x=t/input_0.pb --fill x=1 2>&1
echo "--- an input without a declared rank has one by --shape"
printf '<ir_version: 10, opset_import: ["" : 21]>\ng (float[] x) => (float[] y) { y = Relu (x) }\n' > r.onnxtxt
onnxtool run r.onnxtxt --random 1 2>&1
onnxtool run r.onnxtxt --random 1 --shape x=1x2 2>&1
