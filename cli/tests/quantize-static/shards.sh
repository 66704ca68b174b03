cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { ["m"] y = MatMul (x, w) }
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x, float[p,4] x0, float[q,4] x1, float[r,4] x2) <int64[3] s = {10, 23, 67}> { x = Identity (a) x0, x1, x2 = Split <axis = 0> (a, s) }\n' >cut.onnxtxt
onnxtool run cut.onnxtxt --random 1 --shape a=100x4 -o DIR.npz >/dev/null
for i in '' 0 1 2; do
    printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >id.onnxtxt
    onnxtool run cut.onnxtxt --random 1 --shape a=100x4 --outputs "x$i" -o "only$i.npy" >/dev/null
    mkdir "d$i" && mv "only$i.npy" "d$i/x.npy"
    onnxtool quantize-static m.onnxtxt --calibrate-only --calibration "d$i" --table "t$i.json"
done
for method in minmax percentile entropy mse auto; do
    onnxtool quantize-static m.onnxtxt -q -o whole.onnx --calibration d --method $method >/dev/null
    onnxtool quantize-static m.onnxtxt -q -o merged.onnx --table t2.json,t0.json --table t1.json --method $method >/dev/null
    cmp whole.onnx merged.onnx && echo $method agrees
done
onnxtool quantize-static --merge t2.json t0.json t1.json -o merged.json && cmp t.json merged.json && echo tables agree
onnxtool quantize-static --merge t1.json t2.json -o some.json
onnxtool quantize-static --merge some.json t0.json -o merged.json && cmp t.json merged.json && echo tables agree
onnxtool quantize-static --merge t0.json --table t1.json -o merged.json
onnxtool quantize-static m.onnxtxt --calibration d --method compare
echo '{"schema": "onnxtool.calibration/1", "tensors": [{"name": "x", "min": 1, "max": 0}]}' >bad.json
onnxtool quantize-static m.onnxtxt -o q.onnx --table bad.json
echo '[]' >bad.json
onnxtool quantize-static m.onnxtxt -o q.onnx --table bad.json
