# A mask of what is kept and what is new, under a name of its own: inputs whose open dimensions are all alike do not do.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[N,1] ids, int64[N,s64] mask, float[N,s2,4] kept) => (float[N,L,4] y) <int64[1] one = {1}> {
    new = CastLike(ids, kept)
    row = Unsqueeze(new, one)
    shape = Constant <value_ints = [1,1,4]> ()
    rows = Expand(row, shape)
    all = Concat <axis = 1> (kept, rows)
    masked = CastLike(mask, kept)
    sizes = Shape(all)
    second = Constant <value_int = 1> ()
    first = Constant <value_int = 0> ()
    length = Gather(sizes, second)
    places = Range(first, length, second)
    there = Gather <axis = 1> (masked, places)
    two = Constant <value_ints = [2]> ()
    column = Unsqueeze(there, two)
    y = Mul(all, column)
}
M
onnxtool convert-opset m.onnxtxt --to 11 -o o.onnx
