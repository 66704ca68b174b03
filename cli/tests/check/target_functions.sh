# Functions of the model are judged by their bodies, with the operator sets that they import.
cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
agraph (float[2] X, bool c) => (float[2] Y)
{
    A = local.sharp(X)
    Y = If (c) <then_branch = yes () => (float[2] B) { B = HardSwish(A) },
                else_branch = no () => (float[2] B) { B = Identity(A) }>
}
<domain: "local", opset_import: ["" : 17]>
sharp (a) => (b)
{
    b = Celu(a)
}
X
onnxtool check --target onnxruntime=1.12 --target onnxruntime=1.8 model.onnxtxt
