model() { printf '<ir_version: 3, opset_import: ["" : %s]>\n%s\n' "$1" "$2" >m.onnxtxt; }
echo nothing to quantize
model 13 'g (float[2] x) => (float[2] y) { y = Relu (x) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool dump q.onnx -f text
echo weights that are inputs, shared, and an output
model 13 'g (float[1,2] x, float[2,2] w) => (float[1,2] y, float[2,2] s, float[2,2] w) <float[2,2] w = {1, 2, 3, 4}> { a = MatMul (x, w) y = MatMul (a, w) s = Neg (w) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool check q.onnx && onnxtool dump q.onnx -f text
echo not a number
model 13 'g (float[1,2] x) => (float[1,1] y) { w = Constant <value = float[2,1] {nan, 1}> () y = MatMul (x, w) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
echo constants of nodes, zeros
model 13 'g (float[1,2] x) => (float[1,1] y) { w = Constant <value = float[2,1] {0, 0}> () y = MatMul (x, w) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool dump q.onnx -f text
echo a subgraph
model 13 'g (float[1,2] x, bool c) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = If (c) <then_branch = t () => (float[1,2] u) { u = MatMul (x, w) }, else_branch = e () => (float[1,2] v) { v = Identity (x) }> }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool quantize-dynamic m.onnxtxt -o q.onnx --nodes '*' && onnxtool check q.onnx && onnxtool run q.onnx --random 1 >/dev/null && echo runs
echo too old
model 10 'g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
echo inputs left out
model 13 'g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}, float[1,1,1,1] w = {2}> { a = Resize (x, , s) b = Relu (a) y = Conv (b, w) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool check q.onnx
echo trees, which have no integers
printf '<ir_version: 8, opset_import: ["ai.onnx.ml" : 3]>\ng (float[n,2] x) => (float[n,2] y) { y = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [1.0, 2.0]> (x) }\n' >m.onnxtxt
onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool check q.onnx && onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4
echo quantized already
model 13 'g (float[n,2] x) => (float[n,2] y) <float s = {0.1}, uint8 z = {0}, int8[2,2] w = {1, 2, 3, 4}, int8 wz = {0}> { xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) wd = DequantizeLinear (w, s, wz) y = MatMul (xd, wd) }'
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
