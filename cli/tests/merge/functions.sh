# Equal functions are one, others are told apart, and so are a function and an operator that the other model means.
cat > a.txt <<END
<ir_version: 9, opset_import: ["" : 17, "f" : 1, "com.microsoft" : 1]> a (float[2] x) => (float[2] h) { i = f.Twice(x) j = f.Other(i) h = com.microsoft.Gelu(j) }
<domain: "f", opset_import: ["" : 17]> Twice (x) => (y) { y = Add(x, x) }
<domain: "f", opset_import: ["" : 17]> Other (x) => (y) { y = Neg(x) }
<domain: "com.microsoft", opset_import: ["" : 17]> Gelu (x) => (y) { y = Relu(x) }
END
cat > b.txt <<END
<ir_version: 9, opset_import: ["" : 17, "f" : 1, "com.microsoft" : 1]> b (float[2] h) => (float[2] y) { i = f.Twice(h) j = f.Other(i) k = f.Both(j) y = com.microsoft.Gelu(k) }
<domain: "f", opset_import: ["" : 17]> Twice (x) => (y) { y = Add(x, x) }
<domain: "f", opset_import: ["" : 17]> Other (x) => (y) { y = Abs(x) }
<domain: "f", opset_import: ["" : 17, "f" : 1]> Both (x) => (y) { t = f.Other(x) y = f.Twice(t) }
END
onnxtool merge a.txt b.txt -o c.onnx
onnxtool dump -f text c.onnx
onnxtool check --full c.onnx
echo '[-1,2]' > x.json
onnxtool run a.txt -i x.json -o h.npz
onnxtool run b.txt -i h.npz
onnxtool run c.onnx -i x.json
