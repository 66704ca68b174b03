# The fused convolution refuses a bias in the same words as the standard's operator.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,3,3] x, float[n] b) => (float[1,2,3,3] y)
<float[2,1,1,1] w = {1, 2}>
{ c = Conv (x, w, b) y = Relu (c) }
MODEL
onnxtool run m.onnxtxt --random 1 --shape b=3 -O0
echo "$?"
onnxtool run m.onnxtxt --random 1 --shape b=3 -O2
