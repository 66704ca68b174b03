# A comparison of values that are there in float is not rounded to a tie; what lies between Q and DQ is computed in integers, so it is
# left as it is; and outputs of many roundings are held by their noise, not by their smallest element.
cat >m.txt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[N,3] x) => (float[N,3] y, int64[N,1] best)
<float[3] edge = {5.1000004, 2.8, 3.3}, float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}>
{ low = Less(x, edge) m = MatMul(x, w) e = Exp(m) y = Where(low, e, m) best = ArgMax<axis = 1>(x) }
M
onnxtool optimize --fp16 m.txt -o half.onnx | grep -v verified
onnxtool dump -f text half.onnx | grep -E 'Less|ArgMax|MatMul|Exp|Where'
cat >q.txt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[N,3] x) => (float[N,3] y)
<float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float s = {0.1}, uint8 z = {128}>
{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) m = MatMul(d, w) p = QuantizeLinear(m, s, z)
  t = DequantizeLinear(p, s, z) y = Relu(t) }
M
onnxtool optimize --fp16 q.txt
cat >sum.txt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[16,16] x) => (float[16,16] y)
<float[16] k = {999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999, 999}>
{ m = Mul(x, k) t = Transpose(m) y = Sub(m, t) }
M
onnxtool optimize --fp16 sum.txt -o half.onnx | grep -c 'SQNR 6'
onnxtool optimize --fp16 --rtol 2e-2 sum.txt -o strict.onnx 2>&1 | sed 's/element.*/far/'
ls
# Of sums of integers nothing is a half: not they, nor the scales and their products.
cat >dynamic.txt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x) => (float[N,4] y)
<uint8[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float ws = {1e-6}, uint8 wz = {8}>
{ q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z, wz) c = Cast<to = 1>(i) t = Mul(s, ws) p = Mul(c, t)
  a = Tanh(p) y = Exp(a) }
M
onnxtool optimize --fp16 --passes drop-dead dynamic.txt | grep -v verified
