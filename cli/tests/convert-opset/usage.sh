printf '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (y) { y = Relu(x) }' > m.txt
onnxtool convert-opset m.txt; echo $?
onnxtool convert-opset m.txt --to 99; echo $?
onnxtool convert-opset m.txt --to new; echo $?
onnxtool convert-opset m.txt --to other=3; echo $?
