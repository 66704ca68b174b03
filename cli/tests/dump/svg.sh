cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2,3] "<b>&\"x\"") => (y)
{
   ["</svg><script>alert(1)</script>"] a = Relu ("<b>&\"x\"")
   b = Neg (a)
   c = Abs (b)
   y = Add (a, c)
}
X
onnxtool dump -f svg m.onnxtxt
onnxtool dump -f svg -o m.svg m.onnxtxt && onnxtool dump -f svg m.onnxtxt | cmp - m.svg && echo same
