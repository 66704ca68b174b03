# b computes another sum in another order, and a square wrongly: the one is ill-conditioned, the other wrong.
cat > a.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[8] x) => (float[8] y) <float big = {4096}, float less = {-4096}, float two = {2}> {
  [sum] s = Sum(big, x, less)
  [plain] p = Add(x, two)
  [square] q = Mul(p, p)
  [join] y = Add(q, s)
}
END
cat > b.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[8] x) => (float[8] y) <float big = {4096}, float less = {-4096}, float two = {2}> {
  [sum] s = Sum(big, less, x)
  [plain] p = Add(x, two)
  [square] q = Add(p, p)
  [join] y = Add(q, s)
}
END
echo '[0.3, -0.7, 1.1, 0.011, 3.3, -2.2, 0.123, 0.6]' > x.json
onnxtool parity a.txt --perturb -i x.json
echo "exit $?"
onnxtool parity b.txt a.txt --perturb -i x.json 2> /dev/null | grep -E 'value|Sum|Mul|times'
onnxtool parity b.txt a.txt --perturb -i x.json -f json 2> /dev/null | grep -o '"b":"[spqy]"\|"nature":[a-z"-]*'
# Halves, what has no floats, and what noise ends: an index beyond the end.
cat > h.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float16[3] x) => (int64[3] y, float16[3] z, float16 w) <float16[2] t = {1, 2}, float16 k = {4096}> {
  i = Identity(x)
  f = Floor(i)
  y = Cast<to = 7>(f)
  u = Mul(x, x)
  z = Add(u, u)
  m = ReduceMax<keepdims = 0>(f)
  j = Cast<to = 7>(m)
  w = Gather(t, j)
}
END
echo '[-1, 0.5, 1]' > x.json
onnxtool parity h.txt --perturb -i x.json
