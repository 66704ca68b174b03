# Where the model goes to standard output nothing else does: the report goes to standard error.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { i = Identity(x) y = Relu(i) }' > m.txt
onnxtool convert-opset - --to 14 -o - < m.txt > a.onnx
onnxtool check a.onnx
onnxtool optimize - -o - -f json < a.onnx > b.onnx 2> report.json
onnxtool check b.onnx
grep -c nodes_after report.json
onnxtool optimize -q - -o - < a.onnx | onnxtool check -
onnxtool convert-opset m.txt --to 14 -o - > /dev/full || echo "exit $?"
