cat > 'a&b.json' <<'X'
{"irVersion": "8", "opsetImport": [{"version": "13"}], "graph": {"name": "g",
 "node": [{"name": "n\u001b\u0001<\ufffe\uffff>", "opType": "Relu]]>", "input": ["x"], "output": ["y"]}],
 "input": [{"name": "x", "type": {"tensorType": {"elemType": 1, "shape": {"dim": [{"dimValue": "1"}, {"dimValue": "1"}]}}}}],
 "output": [{"name": "y", "type": {"tensorType": {"elemType": 1, "shape": {}}}}]}}
X
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[1] x) => (float[1] y) <float[1] u = {1}> { y = Relu (x) }\n' > warned.onnxtxt
onnxtool check -f junit --lint 'a&b.json' warned.onnxtxt missing.onnx
onnxtool check -f junit --lint --werror warned.onnxtxt
onnxtool check -f junit warned.onnxtxt
