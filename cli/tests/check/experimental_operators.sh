cat > model.onnxtxt <<'X'
<ir_version: 3, opset_import: ["" : 9]>
g (float[1,3,8,8] x) => (float[1,3,6,6] y)
{
    s = ImageScaler <scale = 2.0, bias = [1.0, 2.0, 3.0]> (x)
    c = Crop <border = [1, 1, 1, 1]> (s)
    y = Affin <alpha = 2.0> (c)
}
X
onnxtool check model.onnxtxt
sed -i 's/Affin /Affine /' model.onnxtxt
onnxtool check --full model.onnxtxt
sed -i 's/border = .1/border = [9/' model.onnxtxt
onnxtool check --full model.onnxtxt
