cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1,1,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] p, float[1,2,4,4] r)
<float s = {0.5}, uint8 z = {128}, float s2 = {0.25}, int8[2,1,1,1] w = {1, 2}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0},
 int32[2] b = {1, 2}, float[2] good = {0.25, 0.125}, float[2] bad = {0.25, 0.25}, int32[2] bz = {0, 1}, float[2,1,1,1] fw = {1, 2}>
{
   xq = QuantizeLinear (x, s, z)
   xd = DequantizeLinear (xq, s, z)
   xm = DequantizeLinear (xq, s2, z)
   wd = DequantizeLinear <axis = 0> (w, ws, wz)
   b1 = DequantizeLinear <axis = 0> (b, good)
   b2 = DequantizeLinear <axis = 0> (b, bad, bz)
   [fused] c1 = Conv (xd, wd, b1)
   c1r = Relu (c1)
   q1 = QuantizeLinear (c1r, s, z)
   y = DequantizeLinear (q1, s, z)
   [scale] c2 = Conv (xd, wd, b2)
   q2 = QuantizeLinear (c2, s, z)
   p = DequantizeLinear (q2, s, z)
   [part] c3 = Conv (xm, fw)
   [open] c4 = Conv (xd, wd)
   r = Add (c3, c4)
}
X
onnxtool check --lint --disable lint.fixed-batch m.onnxtxt
