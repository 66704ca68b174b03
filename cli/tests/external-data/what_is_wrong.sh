cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[1,16] x) => (float[1,16] y) <
  float[16,16] a = {$(seq -s, 1 256)}, float[16,16] b = {$(seq -s, 2 257)}> {
  h = MatMul(x, a)
  y = MatMul(h, b)
}
END
onnxtool convert-opset m.txt --to 18 --no-verify -o m.onnx > /dev/null
onnxtool external-data pack m.onnx --location w.bin --checksums
head -c 100000 /dev/zero >> w.bin
echo "== longer, and not what the checksum says"
onnxtool external-data verify m.onnx
onnxtool external-data pack m.onnx -o n.onnx --location w.bin
rm w.bin
echo "== gone"
onnxtool external-data verify m.onnx
