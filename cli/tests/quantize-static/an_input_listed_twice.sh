# Not valid, but read: each gets the sample of that name.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3] x, float[N,3] x) => (float[N,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul(x, w) }
M
printf '{"x":[[1,2,3],[4,5,6],[-1,0,1]]}' > x.json
onnxtool quantize-static m.onnxtxt --calibration x.json -o out.onnx
