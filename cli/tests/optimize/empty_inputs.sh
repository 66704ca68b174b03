# Sizes that are open are taken to be at least 1, unless --empty says that they may be 0: then the result is held to that too.
cat > model.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[M] y) {
    n = Size (x)
    zero = Constant <value_int = 0> ()
    none = Equal (n, zero)
    y = If (none) <then_branch = nothing () => (float[K] a) { a = Constant <value_floats = [1.0, 2.0]> () },
                   else_branch = some () => (float[L] b) { b = Relu (x) }>
}
M
onnxtool optimize model.onnxtxt
onnxtool optimize --empty model.onnxtxt -o empty.onnx
onnxtool run empty.onnx --shape x=0 --random 1
