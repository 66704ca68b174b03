cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 9]>
agraph (float[2] X) => (float[2] C)
{
    C = Gelu(X)
}
X
onnxtool check -f json model.onnxtxt
