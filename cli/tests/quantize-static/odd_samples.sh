# The sample that a model cannot run is named, an empty selector is none, a report does not take the model's place; what the budget leaves in float says so.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x) => (float[n,4] y)
<float[4,4] w = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}>
{ ["product"] y = MatMul (x, w) }
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,4] a) => (float[n,4] x) { x = Identity (a) }\n' >good.onnxtxt
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3] a) => (float[n,3] x) { x = Identity (a) }\n' >bad.onnxtxt
mkdir data
onnxtool run good.onnxtxt --random 1 --shape a=9x4 -o data/a.npz >/dev/null
onnxtool run bad.onnxtxt --random 1 --shape a=9x3 -o bad.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data --nodes ''; echo $?
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --op-types ,; echo $?
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --report q.onnx; echo $?
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --block-size 64; echo $?
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data --metric top1; echo $?
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data --max-drop 90 --exclude-nodes product | grep float
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data --max-drop 90 | grep float
cp bad.npz data/b.npz
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration data; echo $?
ls
mkdir set && onnxtool run bad.onnxtxt --random 1 --shape a=9x3 -o set/ >/dev/null && mv set/output_0.pb set/input_0.pb
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration set; echo $?
