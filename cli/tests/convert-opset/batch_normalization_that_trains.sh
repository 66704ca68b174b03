# Before opset 14 outputs that are named make it train, by the statistics of the batch.
cat > m.onnxtxt <<'M'
<ir_version: 7, opset_import: ["" : 13]>
g (float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {1,2,3}, float[3] b = {0,1,2}, float[3] m = {5,6,7}, float[3] v = {1,4,9}> {
    y, m1, v1, sm, sv = BatchNormalization(x, s, b, m, v)
}
M
onnxtool convert-opset m.onnxtxt --to 21 -o o.onnx
onnxtool dump -f text o.onnx | grep Batch
