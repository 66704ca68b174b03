cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
agraph (bool c, float[2] X) => (float[2] Y)
{
    T = local.twice(X, X)
    Y = If (c) <then_branch = yes () => (float[2] A) { A = Add(T, X) B = Ad(A, A) },
                else_branch = no () => (float[2] X) { X = Identity(unknown) }>
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
twice (a) => (b)
{
    b = local.again(a)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
again (a) => (b, b)
{
    c = local.twice(a)
}
X
onnxtool check model.onnxtxt
