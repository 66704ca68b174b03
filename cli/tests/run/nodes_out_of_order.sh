# The standard wants nodes in order; converters leave others, and runtimes sort them.
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) {
    y = Neg(a)
    a = Abs(x)
}
M
printf '[1, -2]' > x.json
onnxtool run -v -i x.json m.onnxtxt
onnxtool shape-infer m.onnxtxt
onnxtool convert-opset --to 13 m.onnxtxt -o o.onnx
onnxtool check o.onnx
onnxtool optimize m.onnxtxt -o o.onnx
onnxtool check o.onnx
