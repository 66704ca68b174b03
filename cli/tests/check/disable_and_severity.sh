cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 13, "" : 13]>
agraph (float[2] X) => (float[2] C)
{
    C = Relu(X, X)
}
X
onnxtool check --severity error model.onnxtxt
onnxtool check --disable node.input-count model.onnxtxt
onnxtool check --disable node.input-count --werror -q model.onnxtxt
onnxtool check --disable nonsense model.onnxtxt
