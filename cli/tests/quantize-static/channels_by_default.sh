# Each output channel of a weight has a scale of its own, for which the model is raised to opset 13; --per-tensor asks for one, as
# onnxruntime makes it.
model() {
    printf '<ir_version: 7, opset_import: ["" : %s]>
g (float[%s,3] x) => (float[%s,2] y) <float[3,2] w = {1, 0.01, -2, 0.02, 3, -0.03}> { %s }\n' "$1" "$2" "$2" "$3" >m.onnxtxt
}
scales() {
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration x.npz -q "$@" || return 0
    onnxtool dump q.onnx -f text | grep -oE 'opset_import: .*\]|float(\[[0-9]\])? w_scale'
}
model 17 1 'y = MatMul (x, w)'
onnxtool run m.onnxtxt --random 1 -q --save-test-data d >/dev/null
mkdir x.npz && cp d/input_0.pb x.npz
scales
scales --per-tensor
scales --compat ort
model 11 1 'y = MatMul (x, w)'
scales
scales --per-tensor
scales --per-channel
scales --per-channel --per-tensor
echo "--- short channels of ranges that are alike have one by default"
printf '<ir_version: 8, opset_import: ["" : 17]>
g (float[1,3] x) => (float[1,2] y) <float[3,2] w = {1, 0.6, -2, 0.3, 3, -0.8}> { y = MatMul (x, w) }\n' >m.onnxtxt
scales
scales --per-channel
sed -i 's/-0.8/-0.7/' m.onnxtxt
scales
