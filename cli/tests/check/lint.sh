weights=$(seq -s, 1 300)
cat > m.onnxtxt <<X
<ir_version: 10, opset_import: ["" : 21]>
g (float[1,300] x, bool c, double[N] d, float[300] w) => (float[1] y, double[1,300] z, double[N] e)
<float[300] w = {$weights}, float[300] same = {$weights}, float[2] unused = {1, 2}, double[1] wide = {1}>
{
   a = Add (x, w)
   [dead] b = Neg (a)
   [dead_too] b2 = Abs (b)
   y = Einsum <equation = "ij,j->i"> (a, same)
   e = Add (d, wide)
   f = Cast <to = 11> (x)
   z = If (c) <then_branch = t () => (u) { u = Identity (f) }, else_branch = e () => (v) { k = Constant <value_int = 1> () v = Neg (f) }>
}
X
onnxtool check --lint m.onnxtxt
echo "--- without what is asked for"
onnxtool check m.onnxtxt
onnxtool check --lint --disable lint.float64,lint.dead-node --severity warning m.onnxtxt
onnxtool check --lint --werror m.onnxtxt 2>&1 | tail -n 1; echo "exit ${PIPESTATUS[0]}"
onnxtool check --explain lint.dead-node
