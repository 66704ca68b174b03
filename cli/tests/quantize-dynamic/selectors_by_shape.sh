cat > m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x, bool c) => (float[N,2] y, float[N,3] z, float[N,4] u)
<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[4,2] v = {1, 2, 3, 4, 5, 6, 7, 8}>
{
    [square] a = MatMul (x, w)
    [narrow] y = MatMul (a, v)
    t = Constant <value = float[4,3] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> ()
    [made] z = MatMul (a, t)
    [if] u = If (c) <then_branch = th () => (float[N,4] p) { [inside] p = MatMul (x, w) },
                     else_branch = el () => (float[N,4] q) { [beside] q = MatMul (a, w) }>
}
MODEL
dry() { echo "$*"; onnxtool quantize-dynamic m.onnxtxt --dry-run "$@" 2>&1 | grep -v bytes; }
dry --nodes shape:4x4
dry --nodes 'shape:4x<4'
dry --nodes 'shape:>=4x3'
dry --nodes shape:out:*x2
dry --nodes 'shape:in:*x*'
dry --exclude-nodes 'shape:4x...,shape:in:...'
dry --exclude-nodes shape:1x...,narrow
dry --nodes shape:4x4x
dry --nodes 'shape:<'
dry --nodes shape:in:
dry --nodes shape:1x2x3x4x5x6x7x8x9x10x11x12x13x14x15x16x17
