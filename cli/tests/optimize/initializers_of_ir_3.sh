# Before IR version 4 initializers are inputs too, and constants nevertheless: what is made of them need not be an input.
cat > m.onnxtxt <<'M'
<ir_version: 3, opset_import: ["" : 8]>
g (float[N,2] x, float[2,2] w, float[2] b) => (float[N,2] y) <float[2,2] w = {1,2,3,4}, float[2] b = {0.5,0.25}> {
    m = MatMul(x, w)
    y = Mul(m, b)
}
M
onnxtool optimize m.onnxtxt -o o.onnx
onnxtool check --full o.onnx
onnxtool dump -f text o.onnx
onnxtool optimize -q --fp16 m.onnxtxt -o h.onnx >h.txt
onnxtool check --full h.onnx
