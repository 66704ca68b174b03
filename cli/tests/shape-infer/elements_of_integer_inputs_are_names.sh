cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1,3,H,W] x, int64[2] size, int64[1] k, int64 depth, int64[2] target, float[24] f, int64[2] around, bool c)
  => (resized, expanded, filled, shaped, free, tiled, cut, top, hot, padded, counted, halved, loose)
{
  two = Constant <value = int64[2] {2, 3}> ()
  four = Constant <value = int64[1] {4}> ()
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  hw = Shape <start = 0, end = 2> (x)
  sizes = Concat <axis = 0> (hw, size)
  resized = Resize (x, , , sizes)
  expanded = Expand (x, sizes)
  filled = ConstantOfShape (size)
  part = Concat <axis = 0> (k, four)
  shaped = Reshape (f, part)
  free = Reshape (f, target)
  tiled = Tile (filled, target)
  cut = Slice (f, four, k)
  top, at = TopK (f, k)
  ends = Constant <value = float[2] {0.0, 1.0}> ()
  hot = OneHot (size, depth, ends)
  padded = Pad (f, around)
  counted = Range (zero, depth, one)
  half = Div (size, two)
  halved = ConstantOfShape (half)
  picked = If (c) <then_branch = t () => (p) { p = Identity (size) }, else_branch = e () => (q) { q = Identity (two) }>
  loose = ConstantOfShape (picked)
}
END
onnxtool shape-infer m.onnxtxt
onnxtool shape-infer m.onnxtxt --set 'size[0]=7' --set depth.value=5 | grep -E '^(resized|filled|hot|counted|halved) '
onnxtool shape-infer m.onnxtxt --explain halved --explain loose
onnxtool shape-infer m.onnxtxt -o n.onnx
onnxtool shape-infer n.onnx | grep -E '^(tiled|padded|halved) '
