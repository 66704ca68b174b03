# Models in other folders, whose data has one name; a typed tensor that gets another name keeps its numbers.
mkdir a b out
weights=$(seq -s, 1 512)
cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> m (float[1,32] x) => (float[1,16] y) <float[32,16] w = {$weights}, float[16] v = {$(seq -s, 1 16)}> {
  t = MatMul(x, w)
  y = Add(t, v)
}
END
cat > n.txt <<END
<ir_version: 8, opset_import: ["" : 17]> n (float[1,16] y) => (float[1,32] z) <float[16,32] w = {$weights}, float[32] v = {$(seq -s, 1 32)}> {
  t = MatMul(y, w)
  z = Add(t, v)
}
END
onnxtool dump -f text m.txt > /dev/null
onnxtool external-data pack m.txt -o a/m.onnx --location m.data
onnxtool external-data pack n.txt -o b/m.onnx --location m.data
onnxtool merge a/m.onnx b/m.onnx -o out/c.onnx
ls out
onnxtool external-data verify out/c.onnx
onnxtool merge a/m.onnx b/m.onnx -o - > inline.onnx 2> /dev/null
onnxtool merge m.txt n.txt -o text.onnx -q
onnxtool diff inline.onnx out/c.onnx && onnxtool diff --ignore model inline.onnx text.onnx && echo equal
# In the place of one of its parts.
onnxtool merge a/m.onnx b/m.onnx -o a/m.onnx
ls a
onnxtool diff inline.onnx a/m.onnx && echo equal
rm b/m.data
onnxtool merge inline.onnx b/m.onnx --map z=y -o out/d.onnx 2>&1
echo "exit $?"
ls out
