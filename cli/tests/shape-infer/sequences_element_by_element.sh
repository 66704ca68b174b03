# A list that a scripted model appends to, inserts into and erases from is known element by element: what is joined or stacked
# of it has a length, and integers in it are values of shapes.
cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["": 17]>
g (float[N,3,H,W] x) => (y, z, left, back, looped) {
  size = Shape(x)
  i0 = Constant<value_int = 0>()
  i1 = Constant<value_int = 1>()
  last = Constant<value_int = -1>()
  batch = Gather(size, i0)
  channels = Gather(size, i1)
  list0 = SequenceEmpty<dtype = 7>()
  list1 = SequenceInsert(list0, batch)
  list2 = SequenceInsert(list1, last)
  list3 = SequenceInsert(list2, channels, i1)
  target = ConcatFromSequence<axis = 0, new_axis = 1>(list3)
  y = Reshape(x, target)
  planes = SplitToSequence<axis = 1, keepdims = 0>(x)
  z = SequenceAt(planes, last)
  fewer = SequenceErase(list3, i0)
  left = ConcatFromSequence<axis = 0, new_axis = 1>(fewer)
  lengths = Constant<value_ints = [1, 2]>()
  parts = SplitToSequence<axis = 1>(x, lengths)
  two = SequenceAt(parts, i1)
  back = ConcatFromSequence<axis = 1>(parts)
  trips = Constant<value_int = 3>()
  true = Constant<value = bool {1}>()
  none = SequenceEmpty()
  grown = Loop(trips, true, none) <body = body (int64 i, bool c, seq(float[]) list) => (bool go_on, seq(float[]) more) {
    go_on = Identity(c)
    more = SequenceInsert(list, two)
  }>
  looped = ConcatFromSequence<axis = 1>(grown)
  length = SequenceLength(grown)
  same = Expand(i0, length_1)
  length_1 = Unsqueeze(length, zero)
  zero = Constant<value_ints = [0]>()
}
END
"$ONNXTOOL" shape-infer m.onnxtxt | grep -E '^(target|y|z|left|two|back|looped|same) '
