cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[rows, 3] x, float[n] y) => (stacked, mixed)
{
  none = SequenceEmpty <dtype = 1>()
  sh = Shape <start = 0, end = 1>(x)
  count = Squeeze(sh)
  list = Loop(count, , none) <body = b (int64 i, bool c, seq(float[?]) s) => (c2, s2) {
    c2 = Identity(c)
    row = Gather <axis = 0>(x, i)
    s2 = SequenceInsert(s, row)
  }>
  stacked = ConcatFromSequence <axis = 0, new_axis = 1>(list)
  other, last = Loop(count, , none, y) <body = b2 (int64 i, bool c, seq(float[?]) s, float[k] t) => (c2, s2, t2) {
    c2 = Identity(c)
    s2 = SequenceInsert(s, t)
    t2 = Concat <axis = 0>(t, t)
  }>
  mixed = SequenceAt(other, count)
}
END
onnxtool shape-infer m.onnxtxt | grep -E '^(stacked|mixed|last) '
