cat > m.txt <<'END'
<ir_version: 10, opset_import: ["" : 21, "d" : 1]>
g (bool c, float[n] x, float[m] z) => (y, a, b) {
    y = If(c) <then_branch = t () => (q) { i = NonZero(x) s = Shape(i) q = ConstantOfShape(s) }, else_branch = e () => (q) { q = Unique(x) }>
    a = d.f(x) b = d.f(z) }
<domain: "d", opset_import: ["" : 21]> f (p) => (r) { k = Mul(p, p) r = Unique(k) }
END
onnxtool shape-infer -q m.txt --explain q --explain r --explain k
