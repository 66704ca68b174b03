# Values are found again under other names: renamed, folded, batch norm in the weights, Q and DQ between, a weight transposed.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" 2>&1 | sed 's/  *$//'; echo "exit $?"; }
cat >a.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[2,2,4,4] x) => (float[2,3] y)
<float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {2, 0.5}, float[2] b = {1, 0}, float[2] m = {0.5, 0}, float[2] v = {0.99999, 3.99999},
 float[2,3] fc = {1, 2, 3, 4, 5, 6}>
{
  [conv] c = Conv(x, w)
  [norm] n = BatchNormalization(c, s, b, m, v)
  [act] r = Relu(n)
  [pool] p = GlobalAveragePool(r)
  [flat] f = Flatten(p)
  [head] h = MatMul(f, fc)
  [out] y = Tanh(h)
}
END
cat >b.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[2,2,4,4] x) => (float[2,3] y)
<float[2,2,1,1] w2 = {2, 4, 0.75, 1}, float[2] bias = {0, 0}, float[3,2] fc_t = {1, 4, 2, 5, 3, 6}>
{
  [Conv_0] t0 = Conv(x, w2, bias)
  [Relu_1] t1 = Relu(t0)
  [Pool_2] t2 = GlobalAveragePool(t1)
  [Flatten_3] t3 = Flatten(t2)
  [Gemm_4] t4 = Gemm<transB = 1>(t3, fc_t)
  [Tanh_5] y = Tanh(t4)
}
END
show a.onnx b.onnx --random 1 --layers
cat >q.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[64] x) => (float[64] y) <float step = {0.05}, uint8 zero = {128}>
{
  [act] a = Tanh(x)
  [quantize] a_q = QuantizeLinear(a, step, zero)
  [dequantize] a_dq = DequantizeLinear(a_q, step, zero)
  [out] y = Mul(a_dq, a_dq)
}
END
cat >f.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[64] x) => (float[64] y) { [act] a = Tanh(x) [out] y = Mul(a, a) }
END
show q.onnx f.onnx --random 1 --layers --require 'sqnr>=25'
cat >big.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[N,M] x) => (float[N,M] y) { [one] a = Tanh(x) [two] b = Mul(a, a) [three] c = Add(b, a) [four] y = Exp(c) }
END
# Five runs in step, each with megabytes of its own.
"$ONNXTOOL" parity big.onnx big.onnx --random 1 --shape x=700x700 --layers --oracle -q && echo agree

# Another Softmax and another Gelu in between, a weight computed from others, all names new: the next weights that both have
# tie the sides together again.
w() { seq -s, -w 0.0$1 0.01 1 | cut -d, -f1-64; }
cat >whole.onnx <<END
<ir_version: 10, opset_import: ["" : 20]>
g (float[4,8] x) => (float[4,8] y)
<float[8,8] w1 = {$(w 1)}, float[8,8] w2 = {$(w 3)}, float[8,8] w3 = {$(w 5)}, float[8] shift = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  [in] a = MatMul(x, w1) [soft] s = Softmax(a) [mid] b = MatMul(s, w2) [gelu] g = Gelu(b) [out] c = MatMul(g, w3)
  [shift] d = Mul(c, shift) [end] y = Tanh(d)
}
END
cat >parts.onnx <<END
<ir_version: 10, opset_import: ["" : 20]>
g (float[4,8] x) => (float[4,8] y)
<float[8,8] m1 = {$(w 1)}, float[8,8] m2 = {$(w 3)}, float[8,8] m3 = {$(w 5)}, int64[1] last = {-1},
 float root = {1.41421356237}, float one = {1}, float half = {0.5}, float from = {1}, float to = {9}>
{
  [n1] t1 = MatMul(x, m1) [n2] t2 = Exp(t1) [n3] t3 = ReduceSum(t2, last) [n4] t4 = Div(t2, t3) [n5] t5 = MatMul(t4, m2)
  [n6] t6 = Div(t5, root) [n7] t7 = Erf(t6) [n8] t8 = Add(t7, one) [n9] t9 = Mul(t5, t8) [n10] t10 = Mul(t9, half)
  [n11] t11 = MatMul(t10, m3) [n12] t12 = Range(from, to, one) [n13] t13 = Mul(t11, t12) [n14] y = Tanh(t13)
}
END
show whole.onnx parts.onnx --random 1 --layers

echo "== levels: what rewriting makes has names of its own"
cat >levels.onnx <<'E'
<ir_version: 10, opset_import: ["" : 17]>
g (float[1,2,4,4] x) => (float[1,2] y)
<float[2,2,1,1] w = {1, -2, 3, 4}, float[2,2,1,1] v = {1.5, 0.5, -1, 2}, int64[2] flat = {1, 2}>
{ [first] a = Conv(x, w) [act] r = Relu(a) [second] b = Conv(r, v) [pool] p = GlobalAveragePool(b) [out] y = Reshape(p, flat) }
E
sed 's/-1, 2}, int64/-1, 3}, int64/' levels.onnx >other.onnx
"$ONNXTOOL" parity levels.onnx other.onnx -O2 --random 1 --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'
"$ONNXTOOL" parity levels.onnx -O0 -O2 --random 1 --bisect >levels.txt && head -n 1 levels.txt
