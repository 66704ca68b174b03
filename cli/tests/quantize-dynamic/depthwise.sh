# Errors cancel over all weights of a channel, -0.4 and -0.4 becoming +0.6 and -0.4, but not over those of a depthwise kernel, nor where what
# comes from without may be centred.
model() { printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[n, %s, 1, 3] x) => (float[n, c, 1, 1] y) <float[%s] w = {127, 10.4, 20.4%s}> { r = Relu (x) y = Conv <group = %s> (%s, w) }\n' "$1" "$2" "$4" "$3" "${5:-r}" >m.onnxtxt; }
model 1 1,1,1,3 1 ''
onnxtool quantize-dynamic m.onnxtxt -o q.onnx >report.txt && onnxtool dump q.onnx --tensor w_quantized | tail -n 1
model 2 2,1,1,3 2 ', 127, 10.4, 20.4'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx >report.txt && onnxtool dump q.onnx --tensor w_quantized | tail -n 1
model 1 1,1,1,3 1 '' x
onnxtool quantize-dynamic m.onnxtxt -o q.onnx >report.txt && onnxtool dump q.onnx --tensor w_quantized | tail -n 1
