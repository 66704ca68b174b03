printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[batch,2] x) => (float[batch,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] z = {0, 1}> { l = Log (x) a = MatMul (l, w) k = Mul (a, z) y = MatMul (k, w) }\n' >m.onnxtxt
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[batch,2] a) => (float[batch,2] x) { x = Identity (a) }\n' >id.onnxtxt
echo '[[0, 1], [2, 3], [-1, 4], [5, 6]]' >x.json
onnxtool run id.onnxtxt -i x.json -o x.npz >/dev/null
onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration x.npz && onnxtool check q.onnx
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float16[batch,2] x) => (float16[batch,2] y) <float16[2,2] w = {1, 2, 3, 4}> { ["m"] y = MatMul (x, w) }\n' >half.onnxtxt
onnxtool quantize-static --per-tensor half.onnxtxt -o q.onnx --calibration x.npz && onnxtool check q.onnx
sed 's/: 17/: 19/' half.onnxtxt >half19.onnxtxt
onnxtool quantize-static half19.onnxtxt -o q.onnx --calibration x.npz --per-channel && onnxtool check q.onnx
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[batch,2] x) => (float[batch,2] y) { y = Relu (x) }\n' >none.onnxtxt
onnxtool quantize-static --per-tensor none.onnxtxt -o q.onnx --calibration x.npz && onnxtool check q.onnx
echo nothing but zeros
sed 's/{0, 1}/{0, 0}/' m.onnxtxt >zero.onnxtxt
onnxtool quantize-static --per-tensor zero.onnxtxt -o q.onnx --calibration x.npz && onnxtool check q.onnx
echo a bias of two products
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[batch,2] x) => (float[batch,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> { ["m"] l = Gemm (x, w, b) ["n"] y = Gemm (l, w, b) }\n' >m.onnxtxt
onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration x.npz && onnxtool dump q.onnx -f nodes | grep b_
