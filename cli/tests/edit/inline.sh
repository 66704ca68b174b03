# Bodies in the place of some nodes: functions of the model, also within others, and operators that the standard defines by others.
cat > f.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[2,4] x, bool c) => (float[2,4] y, float[2,4] z) <float[4] s = {1,2,3,4}, float[4] b = {0,1,0,1}> {
  m = LayerNormalization<epsilon = 0.001>(x, s, b)
  n = HardSwish(m)
  t = f.twice(n)
  y = f.once<by = 3.0>(t)
  z = If(c) <then_branch = th () => (float[2,4] p) { p = f.twice(x) }, else_branch = el () => (float[2,4] q) { q = LeakyRelu<alpha = 2.0>(x) }>
}
<domain: "f", opset_import: ["" : 17]> once <by: float = 2.0> (p) => (q) { k = Constant<value_float: float = @by>() q = Mul(p, k) }
<domain: "f", opset_import: ["" : 17, "f" : 1]> twice (p) => (q) { r = f.once(p) q = f.once(r) }
END
inline() {
    "$ONNXTOOL" edit f.onnxtxt "$@" -o o.onnxtxt && "$ONNXTOOL" check --full o.onnxtxt && "$ONNXTOOL" parity f.onnxtxt o.onnxtxt --random 1 -q --rtol 1e-5 && sed -n '/^g /,$p' o.onnxtxt && echo
}
inline --inline twice
inline --inline-except f:once
inline --inline f:once
inline --inline HardSwish,ai.onnx:LeakyRelu
"$ONNXTOOL" edit f.onnxtxt --inline HardSwish,once --inline twice -f json -o o.onnxtxt | grep inlined
refuse() { "$ONNXTOOL" edit f.onnxtxt "$@" -o no.onnxtxt 2>&1; echo "exit $?"; }
refuse --inline nothing
refuse --inline-except HardSwish
refuse --inline LayerNormalization
refuse --inline If
refuse --inline twice --inline-except once
