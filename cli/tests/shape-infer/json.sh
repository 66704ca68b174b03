cat > m.txt <<'END'
<ir_version: 10, opset_import: ["" : 21, "other" : 1]>
g (float[N,3,H,?] x) => (y, z) {
  w = Constant<value = float[1,3,1,1] {1, 2, 3}>()
  y = Conv<strides = [2, 2]>(x, w)
  z = other.Thing(y)
}
END
onnxtool shape-infer -f json m.txt
