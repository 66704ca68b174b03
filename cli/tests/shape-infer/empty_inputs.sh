cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[s, 4] x, float[r, 4] y) => (a, b)
{
  zero = Constant <value_ints = [0]>()
  last = Constant <value_ints = [-1]>()
  most = Constant <value_ints = [9223372036854775807]>()
  a = Slice(x, zero, last, zero)
  b = Slice(x, last, most, zero)
}
END
onnxtool shape-infer m.onnxtxt | grep -E '^[ab] '
onnxtool shape-infer --empty m.onnxtxt | grep -E '^[ab] '
onnxtool shape-infer --input x=0x4 m.onnxtxt | grep -E '^[ab] '
