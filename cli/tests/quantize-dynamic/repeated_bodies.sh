# What a loop multiplies by in each turn stays in float where integers take longer, and rounding adds up; a branch of an If runs once.
weights() { printf '%s' "$(awk -v n="$1" 'BEGIN { for (k = 1; k <= n; k++) printf "%s%.3f", (k > 1 ? ", " : ""), sin(k) }')"; }
for n in 90 91; do
    cat >m.onnxtxt <<MODEL
<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, bool c, float[1,$n] x) => (float[1,$n] y, float[1,$n] z)
<float[$n,$n] w = {$(weights $((n * n)))}>
{
    ["loop"] y = Loop (n, c, x) <body = b (int64 i, bool d, float[1,$n] s) => (bool e, float[1,$n] t) { ["p"] m = MatMul (s, w) t = Tanh (m) e = Identity (d) }>
    ["either"] z = If (c) <then_branch = k () => (float[1,$n] u) { ["q"] u = MatMul (x, w) }, else_branch = l () => (float[1,$n] v) { v = Tanh (x) }>
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt --dry-run | grep -E ' MatMul '
done
