printf '<ir_version: 8>\nempty () => () { }\n' > empty.onnxtxt
onnxtool dump empty.onnxtxt
onnxtool dump -f nodes empty.onnxtxt
onnxtool dump -f tensors empty.onnxtxt
printf '\010\010' > no_graph.onnx
onnxtool dump no_graph.onnx
cat > names.json <<'X'
{"irVersion": "8", "opsetImport": [{"version": "13"}], "producerName": "a\u001b[31m\nb", "graph": {"name": "g\u001b]0;t\u0007",
 "node": [{"name": "n\u001b[31m", "opType": "Relu", "input": ["x\u001b[2J\u202e"], "output": ["y<script>"]}],
 "input": [{"name": "x\u001b[2J\u202e", "type": {"tensorType": {"elemType": 1, "shape": {"dim": [{"dimParam": "d\u001b[1m"}]}}}}],
 "output": [{"name": "y<script>"}]}, "metadataProps": [{"key": "k\u0000hidden", "value": "v\r\n"}]}
X
onnxtool dump names.json
onnxtool dump -f nodes names.json
printf '<ir_version: 8, opset_import: ["" : 13]>\ng (float[9223372036854775807,4] x, float[4,9223372036854775807] w) => (y) { y = MatMul (x, w) }\n' > huge.onnxtxt
onnxtool dump huge.onnxtxt
