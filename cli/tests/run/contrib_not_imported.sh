# What onnxruntime's transformer optimizer writes: operators of com.microsoft whose domain is not imported.
cat >m.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,4] x) => (float[2,4] y) <float[4] b = {1, 2, 3, 4}, float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{ [act] h = com.microsoft.BiasGelu(x, b) [fc] y = MatMul(h, w) }
END
sed 's/\["" : 17\]/["" : 17, "com.microsoft" : 1]/' m.onnx >named.onnx
tell() { echo "\$ onnxtool $*"; "$ONNXTOOL" "$@"; echo "exit $?"; }
# The last digits are the processor's.
tell run m.onnx --random 1 2>&1 | sed -E 's/([0-9]\.[0-9]{3})[0-9]*/\1/g'
tell run m.onnx --random 1 -q 2>&1
tell shape-infer m.onnx 2>&1
tell quantize-dynamic m.onnx -o q.onnx -q 2>&1
tell optimize m.onnx -o o.onnx -q 2>&1
for made in q o; do "$ONNXTOOL" check $made.onnx; done
tell parity m.onnx named.onnx --random 1 2>&1
tell check m.onnx 2>&1
"$ONNXTOOL" dump m.onnx -f nodes 2>&1 | head -3
