# Of points that lie on a center x^2 - 2xc + c^2 is below 0 in halves, and its root no number: the whole distance stays in float.
cat > m.txt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,2] x) => (float[N,1] y) <float[1,2] c = {5.9, 3.1}, float[1] c2 = {44.42}> {
  a = Mul(x, x)
  s = ReduceSumSquare<axes = [1]>(x)
  p = Gemm<alpha = -2.0, transB = 1>(x, c, s)
  d = Add(p, c2)
  r = Sqrt(d)
  m = ReduceMean<axes = [1]>(a)
  y = Mul(r, m)
}
END
onnxtool optimize m.txt --fp16 --no-verify -o half.onnx
onnxtool dump -f text half.onnx | grep -E "Gemm|Add|Sqrt|Mul|Reduce"
