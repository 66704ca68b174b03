cat > a.txt <<END
<ir_version: 8, opset_import: ["" : 17]> enc (float[batch,4] x) => (float[batch,4] h, float[batch,4] side)
  <float[4,4] w = {1,0,0,0,0,2,0,0,0,0,3,0,0,0,0,4}> {
  [n] mm = MatMul(x, w)
  h = Relu(mm)
  side = Neg(mm)
}
END
cat > b.txt <<END
<ir_version: 9, opset_import: ["" : 18]> dec (float[n,4] h, float[batch,4] x) => (float[n,4] y) <float[4] w = {1,1,1,1}> {
  [n] mm = Add(h, w)
  y = Mul(mm, x)
}
END
onnxtool merge a.txt b.txt --shared x -o shared.txt
cat shared.txt
onnxtool merge a.txt b.txt --prefix2 'second part/' -o prefixed.onnx
onnxtool dump -f text prefixed.onnx
onnxtool check --full shared.txt prefixed.onnx
# The same as one after the other.
printf '[[1,-2,3,-4]]' > x.json
onnxtool run a.txt -i x=x.json --outputs h -o h.npz
onnxtool run b.txt -i x=x.json -i h.npz
onnxtool run shared.txt -i x=x.json --outputs y
onnxtool merge - b.txt --shared x --outputs y,b/mm -f json -o - < a.txt 2> report > cut.onnx
cat report
onnxtool dump -f text cut.onnx
