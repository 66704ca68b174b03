# Ctrl-C between two samples, of which there are far more than can be run in the time.
cat >m.txt <<MODEL
<ir_version: 8, opset_import: ["" : 17]> g (float[N,1] x) => (float[N,1] y)
<float[1,1] a = {0.7}> { h = MatMul (x, a) y = Relu (h) }
MODEL
onnxtool run m.txt --random 1 --shape x=8000000x1 --outputs x -o x.npz -q
timeout --foreground --preserve-status -s INT 2 onnxtool quantize-static m.txt --calibrate-only --keep-partial --table t.json --calibration x.npz 2>cut.txt
echo "exit $?"
sed -E 's/[0-9]+ samples/N samples/' cut.txt
onnxtool quantize-static m.txt -q -o q.onnx --table t.json && onnxtool check -q q.onnx && echo loads
echo "--- else nothing is left"
timeout --foreground -s INT 1 onnxtool quantize-static m.txt --calibrate-only --table u.json --calibration x.npz 2>/dev/null
[ -e u.json ] || echo none
onnxtool quantize-static m.txt --keep-partial -o q.onnx --calibration x.npz
