cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N,3,8,8] x, int64 trips, bool go) => (y, last)
<float[4,3,3,3] w = {0}, float[4] b = {0,0,0,0}, float[144,10] m = {0}>
{
   [conv] a = Conv <kernel_shape = [3, 3]> (x, w, b)
   f = Flatten (a)
   y = MatMul (f, m)
   [loop] last = Loop (trips, go, y) <body = b1 (int64 i, bool on, float[N,10] v) => (bool on2, float[N,10] v2) {
      on2 = Identity (on)
      v2 = Relu (v)
   }>
}
X
sed -i 's/ = {0}/ = {}/' m.onnxtxt
onnxtool dump -f nodes m.onnxtxt
echo "--- with numbers"
onnxtool dump -f nodes --input x=2x3x8x8 m.onnxtxt
echo "--- one graph"
onnxtool dump -f nodes --graph loop.body m.onnxtxt
echo "--- one node"
onnxtool dump --node conv --input x=1x3x8x8 m.onnxtxt
onnxtool dump --node f --json m.onnxtxt
onnxtool dump --node '#1' --graph loop.body m.onnxtxt
onnxtool dump --node '#0' m.onnxtxt
