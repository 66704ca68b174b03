# Weights that vary do not fit: the message names the model's node, operator and opset, not what rewriting made of them.
cat >m.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,C,H,W] x, float[O,I,K,L] w) => (y) { [conv1] t = Conv (x, w) [relu] y = Relu(t) }
END
onnxtool run m.onnx --random 1 --shape x=1x3x4x4 --shape w=4x2x3x3 -O0
onnxtool run m.onnx --random 1 --shape x=1x3x4x4 --shape w=4x2x3x3 -O2
