# Where an If goes that alone told onnxruntime the type of a body's output, the output is given that type.
cat > model.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 18]>
g (float[3,4] x) => (float[3,4] y) {
    list = SequenceConstruct (x)
    zero = Constant <value_int = 0> ()
    mapped = SequenceMap (list) <body = at_least_1d (item) => (more) {
        shape = Shape (item)
        rank = Size (shape)
        none = Constant <value_int = 0> ()
        scalar = Equal (rank, none)
        more = If (scalar) <then_branch = first () => (a) { a = Neg (item) },
                            else_branch = second () => (b) { b = Identity (item) }>
    }>
    y = SequenceAt (mapped, zero)
}
M
onnxtool optimize -q model.onnxtxt -o small.onnx
onnxtool dump -f text small.onnx | grep -A1 SequenceMap
