# Integer products, convolutions, pools and sums of no rows, as experts that no token chose, at both levels.
cat > gemm.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,3] y) <float s = {0.1}, uint8 z = {128}, int8[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float ws = {0.1}, int8 wz = {0}, int32[3] b = {1,2,3}, float bs = {0.01}, int32 bz = {0}> {
    xq = QuantizeLinear(x, s, z)
    xd = DequantizeLinear(xq, s, z)
    wd = DequantizeLinear(w, ws, wz)
    bd = DequantizeLinear(b, bs, bz)
    h = Gemm <transB = 1> (xd, wd, bd)
    hq = QuantizeLinear(h, s, z)
    y = DequantizeLinear(hq, s, z)
}
M
cat > conv.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,2,4,4] x) => (float[N,1,4,4] y) <float s = {0.1}, uint8 z = {128}, int8[1,2,1,1] w = {1,2}, float ws = {0.1}, int8 wz = {0}> {
    xq = QuantizeLinear(x, s, z)
    xd = DequantizeLinear(xq, s, z)
    wd = DequantizeLinear(w, ws, wz)
    h = Conv (xd, wd)
    hq = QuantizeLinear(h, s, z)
    y = DequantizeLinear(hq, s, z)
}
M
cat > dynamic.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,3] y) <int8[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float ws = {0.1}, int8 wz = {0}> {
    q, s, z = DynamicQuantizeLinear(x)
    m = MatMulInteger(q, w, z, wz)
    f = Cast <to = 1> (m)
    t = Mul(s, ws)
    y = Mul(f, t)
}
M
cat > stacks.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[B,N,4] x, float[B,4,M] v) => (float[B,N,M] y) <float s = {0.1}, uint8 z = {128}> {
    xq = QuantizeLinear(x, s, z)
    xd = DequantizeLinear(xq, s, z)
    vq = QuantizeLinear(v, s, z)
    vd = DequantizeLinear(vq, s, z)
    h = MatMul (xd, vd)
    hq = QuantizeLinear(h, s, z)
    y = DequantizeLinear(hq, s, z)
}
M
cat > pools.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,2,4,4] x) => (float[N,2,1,1] y, float[N,2,4,4] t) <float s = {0.1}, uint8 z = {128}> {
    xq = QuantizeLinear(x, s, z)
    xd = DequantizeLinear(xq, s, z)
    h = GlobalAveragePool (xd)
    hq = QuantizeLinear(h, s, z)
    y = DequantizeLinear(hq, s, z)
    u = Add (xd, xd)
    uq = QuantizeLinear(u, s, z)
    t = DequantizeLinear(uq, s, z)
}
M
for level in 0 2; do
    onnxtool run -O$level --random 1 --shape x=0x2x4x4 pools.onnxtxt
    onnxtool run -O$level --random 1 --shape x=0x4 gemm.onnxtxt
    onnxtool run -O$level --random 1 --shape x=0x2x4x4 conv.onnxtxt
    onnxtool run -O$level --random 1 --shape x=0x4 dynamic.onnxtxt
    onnxtool run -O$level --random 1 --shape x=2x0x4 --shape v=2x4x3 stacks.onnxtxt
    onnxtool run -O$level --random 1 --shape x=2x2x4 --shape v=2x4x0 stacks.onnxtxt
done
