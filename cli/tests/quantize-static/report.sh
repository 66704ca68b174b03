cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,2] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,2] b = {1, 2, 3, 4, 5, 6, 7, 8}>
{
    ["<first>"] h = MatMul (x, a)
    ["tanh"] t = Tanh (h)
    ["second"] y = MatMul (t, b)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --exclude-nodes second --report r.html
grep -o '<p>[^<]*</p>' r.html | sed 's/measured on this machine: [^<]* times/measured on this machine: N/'
grep -oE '<td>(&lt;first&gt;|second)</td><td>MatMul</td><td>[a-z]*</td>' r.html
grep -c '<svg' r.html
grep -c '<first>' r.html
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --exclude-nodes second --report r.json
grep -E '"(model_bytes_before|model_bytes_after|integer_share|saturating_weights)"' r.json
grep -c '"gathered_db"' r.json
echo --- debug
onnxtool quantize-static --debug q.onnx --float m.onnxtxt --calibration all.npz | sed 's/[0-9]*\.[0-9]/N/g; s/  */ /g'
onnxtool quantize-static --debug q.onnx --float m.onnxtxt --calibration all.npz -f json | grep '"node"'
echo --- bins
onnxtool quantize-static m.onnxtxt --method compare --bins 8 --calibration all.npz | head -1
onnxtool quantize-static --debug q.onnx --float m.onnxtxt
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --bins 5000
