cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
"a \"graph\"" (float[2,3] "in\\put", bool c) => (y)
{
   k = Constant <value = float {1}> ()
   ["n\"1"] a = Add ("in\\put", k)
   [branch] y = If (c) <then_branch = t () => (u) { u = Relu (a) }, else_branch = e () => (v) { v = Neg (a) }>
}
X
onnxtool dump -f dot m.onnxtxt
onnxtool dump -f dot --graph branch.then_branch m.onnxtxt
onnxtool dump -f dot --graph nowhere m.onnxtxt 2>&1; echo "exit $?"
