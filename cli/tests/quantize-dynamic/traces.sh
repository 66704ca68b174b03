# What torch's exporter tells of the places of nodes and values in its source does not come into the quantized model, what others tell does.
cat >m.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 18]>
g (float[4,4] x) => (float[4,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 9}> { h = MatMul (x, w) y = Relu (h) }
MODEL
props='"metadataProps": [{"key": "pkg.torch.onnx.stack_trace", "value": "File m.py, line 3"}, {"key": "stage", "value": "2"}, {"key": "namespace", "value": "m: M"}, {"key": "pkg.torch.onnx.fx_node", "value": "%m"}]'
onnxtool dump m.onnxtxt -f json | sed "s/\"opType\": \"[A-Z]/$props, &/; s/\"name\": \"x\"/&, ${props/stage/kept}/" >m.json
grep -o '"key": "[a-z._]*' m.json | sort | uniq -c
onnxtool quantize-dynamic m.json -o q.onnx -q
onnxtool dump q.onnx -f json | grep -o '"key": "[a-z._]*' | sort | uniq -c
onnxtool check q.onnx
