# A convolution over one axis and an unrolled layer behind it, as TensorFlow's are exported: bias and activation get before Squeeze, and what
# the steps take slices of is rounded once.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[batch,2,1,5] x) => (float[batch,3] y, float[batch,3] z)
<float[4,2,1,2] w = {1, 0.5, 0.5, -1, 0.3, 0.2, -0.6, 0.1, 1, 2, 3, -4, 0.5, 0.6, 0.7, 0.8}, float[1,4,1] bias = {0.1, 0.2, -0.3, 0.4},
 float[4,3] v = {1, 2, 3, -4, 0.5, 0.6, 0.7, 0.8, -1, 0.2, 1, 0.4},
 int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}>
{
    ["conv"] c = Conv (x, w)
    ["flat"] s = Squeeze (c, two)
    ["biased"] b = Add (s, bias)
    ["relu"] r = Relu (b)
    ["turned"] t = Transpose <perm = [0, 2, 1]> (r)
    ["first"] f = Slice (t, zero, one, one)
    ["step1"] p = Squeeze (f, one)
    ["product1"] y = MatMul (p, v)
    ["last"] l = Slice (t, two, three, one)
    ["step2"] q = Squeeze (l, one)
    ["product2"] z = MatMul (q, v)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 13]> g (float[batch,2,1,5] a) => (float[batch,2,1,5] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x1x5 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain -q
onnxtool dump q.onnx -f text | grep -oE ' (Conv|Add|Relu|Squeeze|Transpose|Slice|MatMul|QuantizeLinear) \([a-z]*' | sort | uniq -c
onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 0.1 >out && echo near
