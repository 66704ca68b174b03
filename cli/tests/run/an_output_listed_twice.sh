# Graphs may list an output again, as onnxruntime takes them: files hold it once.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y, float[2] y) { y = Neg(x) }' > m.txt
onnxtool run -q m.txt --random 1 -o o.npz && onnxtool run -q m.txt --random 1 -o o.json && onnxtool run -q m.txt --random 1 -o o.npy
ls o.*
