printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[1] x) => (float[1] y) { [soft] y = Softmux (x) }\n' > 'a b.onnxtxt'
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[1] x) => (float[1] y) { y = Relu (x) }\n' > good.onnxtxt
printf 'no model' > bad.onnx
onnxtool check -f sarif good.onnxtxt
onnxtool check -f sarif 'a b.onnxtxt' good.onnxtxt missing.onnx bad.onnx
