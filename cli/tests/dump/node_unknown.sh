printf '<ir_version: 8, opset_import: ["" : 13]>\ng (float[1] x) => (y) { y = Relu (x) }\n' > m.onnxtxt
onnxtool dump --node nobody m.onnxtxt
