# Opset 10 quantizes by tensor alone: scales of axis 0 are laid along that axis, not along 1.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 13]>
g (float[2,3] x) => (float[2,3] y, int8[2,3] q)
<float[2] s = {0.5, 0.25}, int8[2] z = {1, -2}, int8[2,3] w = {1, 2, 3, 4, 5, 6}>
{
    q = QuantizeLinear<axis = 0>(x, s, z)
    d = DequantizeLinear<axis = 0>(w, s, z)
    y = Add(x, d)
}
M
onnxtool convert-opset m.onnxtxt --to 11 -o o.onnx
onnxtool check --full o.onnx
