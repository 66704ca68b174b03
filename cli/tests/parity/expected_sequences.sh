# What `run -o FILE.npz` writes of sequences, maps and optionals, `parity --expected` reads.
printf '<ir_version: 10, opset_import: ["" : 18]>\ng (float[6] x) => (seq(float) parts, optional(float[6]) maybe, float[6] y)\n<int64 two = {2}>\n{ parts = SplitToSequence<axis = 0>(x, two) maybe = Optional(x) y = Neg(x) }\n' >m.onnx
printf '{"x": {"dtype": "float32", "shape": [6], "data": [1, 2, 3, 4, 5, 6]}}' >x.json
printf '{"x": {"dtype": "float32", "shape": [6], "data": [1, 2, 3, 4, 5, 7]}}' >z.json
"$ONNXTOOL" run -q m.onnx -i x.json -o x.npz && "$ONNXTOOL" parity m.onnx -i x.json --expected x.npz
"$ONNXTOOL" parity m.onnx -i z.json --expected x.npz 2>&1
"$ONNXTOOL" run -q m.onnx -i x.json -o fewer.npz --outputs parts && "$ONNXTOOL" parity m.onnx -i x.json --expected fewer.npz 2>&1
printf '<ir_version: 10, opset_import: ["" : 18]>\ng (float[6] x) => (float[6] y) { y = Neg(x) }\n' >y.onnx
"$ONNXTOOL" parity y.onnx -i x.json --expected x.npz 2>&1
