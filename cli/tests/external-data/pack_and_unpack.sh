cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[1,16] x) => (float[1,16] y) <
  float[16,16] a = {$(seq -s, 1 256)}, float[16,16] b = {$(seq -s, 1 256)}, float[16] c = {$(seq -s, 1 16)}> {
  h = MatMul(x, a)
  i = MatMul(h, b)
  y = Add(i, c)
}
END
onnxtool convert-opset m.txt --to 18 --no-verify -o m.onnx > /dev/null
onnxtool external-data pack m.onnx -o p.onnx --threshold 64 --checksums
onnxtool external-data verify p.onnx -f json
onnxtool diff m.onnx p.onnx && echo equal
onnxtool external-data unpack p.onnx -o u.onnx
onnxtool diff m.onnx u.onnx && echo equal
onnxtool external-data pack m.onnx -o s.onnx --threshold 64 --per-tensor --no-dedup
ls
onnxtool check s.onnx
