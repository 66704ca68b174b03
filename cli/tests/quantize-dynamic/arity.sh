# Nodes without what their operators need are told, and nothing is written: the program crashed.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[4,4] x) => (float[4,4] y)
<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
    ["bare"] t = Transpose ()
    ["product"] m = MatMul (x, w)
    y = Add (m, t)
}
MODEL
for command in "quantize-dynamic" "quantize-dynamic --weight-only int8" "quantize-static --calibration ."; do
    onnxtool $command m.onnxtxt -o out.onnx
    echo "exit $?"
done
ls
