# Each machine calibrates on every N-th sample; the tables merge to that of all, one of no sample with them.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { ["m"] y = MatMul (x, w) }
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >id.onnxtxt
mkdir d
onnxtool run id.onnxtxt --random 1 --shape a=10x4 -o x.npy >/dev/null && mv x.npy d/x.npy
onnxtool quantize-static m.onnxtxt --calibrate-only --calibration d --table whole.json
for i in 1 2 3 11; do
    onnxtool quantize-static m.onnxtxt --calibrate-only --calibration d --table "t$i.json" --shard "$i/$((i > 3 ? 12 : 3))"
    grep -o '"samples": *[0-9]*' "t$i.json" | tail -1
done
onnxtool quantize-static --merge t3.json t11.json t1.json t2.json -o merged.json && cmp whole.json merged.json && echo tables agree

# The model takes two rows a feed though its input does not say so: every shard finds it.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] x) => (float[n,2] y) <int64[2] s = {2, 4}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { r = Reshape (x, s) y = MatMul (r, w) }\n' >fixed.onnxtxt
onnxtool quantize-static fixed.onnxtxt --calibrate-only --calibration d --table whole.json
for i in 1 2; do onnxtool quantize-static fixed.onnxtxt --calibrate-only --calibration d --table "t$i.json" --shard "$i/2"; done
onnxtool quantize-static --merge t2.json t1.json -o merged.json && cmp whole.json merged.json && echo tables agree

onnxtool quantize-static m.onnxtxt --calibration d -o q.onnx --shard 1/2
echo "exit $?"
onnxtool quantize-static m.onnxtxt --calibration d --calibrate-only --table t.json --shard 3/2
