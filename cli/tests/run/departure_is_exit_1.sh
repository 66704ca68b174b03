printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,2] x) => (float[2,2] y) { y = Neg (x) }\n' > neg.onnxtxt
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2,2] x) => (float[2,2] y) { y = Relu (x) }\n' > relu.onnxtxt
echo '[[1, -2], [3, 4]]' > x.json
mkdir set
onnxtool run neg.onnxtxt -i x.json -o set/
onnxtool run relu.onnxtxt -i x.json -o in/ --outputs x 2>/dev/null || onnxtool run relu.onnxtxt -i x.json -o in/
cp set/output_0.pb set/input_0.pb
onnxtool run relu.onnxtxt --test-data set && echo agrees
onnxtool run relu.onnxtxt --test-data set --atol 10 && echo agrees
onnxtool run relu.onnxtxt --test-data missing
