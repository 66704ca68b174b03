cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 4] x, float[9] r, bool go) => (shaped, grown, taken, same, while, trips, data, sizes)
{
  three = Constant <value_int = 3>()
  one = Constant <value_ints = [1]>()
  yes = Constant <value = bool {1}>()
  shape, dims = Loop (three, yes, one) <body = b (int64 i, bool c, int64[n] s) => (c2, s2, d) {
    c2 = Identity(c)
    two = Constant <value_ints = [2]>()
    s2 = Concat <axis = 0>(s, two)
    d = ReduceProd <keepdims = 0>(s2)
  }>
  big = ConstantOfShape(shape)
  shaped = Identity(big)
  sizes = ConstantOfShape(dims)

  grown, items = Loop (three, , x) <body = b2 (int64 i, bool c, float[k, w] s) => (c2, s2, it) {
    c2 = Constant <value = bool {1}>()
    s2 = Concat <axis = 1>(s, s)
    it = ReduceSum <keepdims = 0>(s)
  }>

  rank = Constant <value_int = 2>()
  is2 = Equal(rank, rank)
  target = If (is2) <then_branch = t () => (a) { a = Constant <value_ints = [2, -1]>() },
                     else_branch = e () => (a) { a = Constant <value_ints = [-1]>() }>
  taken = Reshape(x, target)
  either = If (go) <then_branch = t () => (a) { a = Constant <value_ints = [3, 3]>() },
                    else_branch = e () => (a) { a = Constant <value_ints = [3, 3]>() }>
  same = Reshape(r, either)

  zero = Constant <value_int = 0>()
  last, numbers = Loop (, yes, zero) <body = w (int64 i, bool c, int64 s) => (c2, s2, s3) {
    step = Constant <value_int = 3>()
    most = Constant <value_int = 10>()
    s2 = Add(s, step)
    s3 = Identity(s2)
    c2 = Less(s2, most)
  }>
  at = Unsqueeze(last, one0)
  one0 = Constant <value_ints = [0]>()
  while = ConstantOfShape(at)
  trips = ConstantOfShape(numbers)

  data, none = Loop (three, , r) <body = n (int64 i, bool c, float[k] s) => (c2, s2, it) {
    c2 = Identity(c)
    nz = NonZero(s)
    flat = Squeeze(nz, one0)
    f = Cast <to = 1>(flat)
    s2 = Concat <axis = 0>(s, f)
    it = ReduceSum <keepdims = 0>(s)
  }>
}
END
onnxtool shape-infer m.onnxtxt
