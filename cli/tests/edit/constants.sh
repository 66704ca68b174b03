# Constants that old files list as inputs; external data stays where it is, and follows to another folder.
cat > old.txt <<END
<ir_version: 3, opset_import: ["" : 8]> old (float[2] p, float[2] w) => (float[2] y) <float[2] w = {5,6}> { y = Sub(p, w) }
END
onnxtool edit old.txt --free-constants -o new.txt && cat new.txt && onnxtool check new.txt
cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> m (float[1,16] x) => (float[1,16] y) <float[16,16] w = {$(seq -s, 1 256)}> { y = MatMul(x, w) }
END
onnxtool external-data pack m.txt -o m.onnx > /dev/null
mkdir far
onnxtool edit m.onnx --rename w=weight -o near.onnx
onnxtool edit m.onnx --rename w=weight -o far/far.onnx
ls . far
onnxtool external-data verify near.onnx
onnxtool diff --ignore names near.onnx m.onnx && onnxtool diff near.onnx far/far.onnx && echo equal
onnxtool edit m.onnx --prefix a. -o - 2> /dev/null | onnxtool dump -f text --weights none -
