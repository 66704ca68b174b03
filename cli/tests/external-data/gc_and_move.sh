cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[1,16] x) => (float[1,16] y) <
  float[16,16] a = {$(seq -s, 1 256)}, float[16,16] b = {$(seq -s, 2 257)}> {
  h = MatMul(x, a)
  y = MatMul(h, b)
}
END
onnxtool convert-opset m.txt --to 18 --no-verify -o m.onnx > /dev/null
cp m.onnx whole.onnx
onnxtool external-data pack m.onnx
onnxtool external-data gc m.onnx
head -c 100000 /dev/zero >> m.onnx.data
onnxtool external-data gc m.onnx
ls
mkdir there
onnxtool external-data move m.onnx there/n.onnx
ls . there
onnxtool external-data move there/n.onnx there/o.onnx --location o.bin
ls there
onnxtool diff whole.onnx there/o.onnx && echo equal
onnxtool external-data throw m.onnx
