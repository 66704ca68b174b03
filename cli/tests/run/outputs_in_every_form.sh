cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, int64[N] i) => (float[2] y, int64[N] j) { y = Neg (x) j = Add (i, i) }
X
echo '[1, 2.5]' > x.json
echo '[1, -7]' > i.json
onnxtool run model.onnxtxt -i x=x.json -i i=i.json
onnxtool run model.onnxtxt -i x=x.json -i i=i.json -o out.npz
onnxtool run model.onnxtxt -i x=x.json -i i=i.json -o out/
onnxtool run model.onnxtxt -i x=x.json -i i=i.json --outputs j -o j.npy
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] y, int64[K] j) => (float[2] a, int64[K] b) { a = Identity(y) b = Identity(j) }\n' > same.onnxtxt
onnxtool run same.onnxtxt -i out.npz
mkdir set && cp out/output_0.pb set/input_0.pb && cp out/output_1.pb set/input_1.pb
onnxtool run same.onnxtxt --test-data set -f json --outputs b | grep -A 8 '"outputs"'
onnxtool run same.onnxtxt -i y=out/output_0.pb -i j=j.npy --outputs b
