printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,3] x) => (y) { y = Relu(x) }' > m.txt
onnxtool shape-infer m.txt --set N=3 --set N=4
onnxtool shape-infer m.txt --set N=0
onnxtool shape-infer m.txt --set N=99999999999999999999
onnxtool shape-infer m.txt --set N=-1
onnxtool shape-infer m.txt --set N=
onnxtool shape-infer m.txt --set M=2
onnxtool shape-infer -q m.txt --set N=0 --empty
