# A window of 9 over a length that is open: the small lengths that are drawn first do not do.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,1,L] x) => (float[N,1,M] y) <float[1,1,9] w = {1,2,3,4,5,6,7,8,9}> {
    y = Conv(x, w)
}
M
onnxtool convert-opset m.onnxtxt --to 11 -o o.onnx
