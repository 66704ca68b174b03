printf '<ir_version: 8, opset_import: ["" : 16]> g (float[2,3] x, bool c, int64 k) => (y, z, l) {
  <n0: > y = Relu(x)
  q = Erf(y)
  z = Where(c, x, q)
  l = If(c) <then_branch = a () => (t) { t = NonZero(x) }, else_branch = b () => (e) { e = NonZero(q) }>
}' | sed 's/<n0: > //' > m.txt
onnxtool convert-opset m.txt --to 8 -o out.onnx
echo $?
ls
cat >expand.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 13]>
expand (float[N,4] x) => (y) <int64[1] s = {-1}> { [wide] t = Expand(x, s) y = Relu(t) }
END
onnxtool convert-opset expand.onnxtxt --to 7 -o out.onnx
echo "exit $?"
