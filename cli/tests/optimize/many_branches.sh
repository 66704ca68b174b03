# Time grows with the number of subgraphs, not with its square: 8191 of them.
body='z = Identity(x)'
for i in $(seq 12); do
    body="z = If(c)<then_branch = t () => (z) { $body }, else_branch = e () => (z) { $body }>"
done
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x, bool c) => (float[2] z) { %s }\n' "$body" > m.onnxtxt
onnxtool optimize --timeout 60 --no-verify m.onnxtxt -o out.onnx
onnxtool run --timeout 60 --random 1 m.onnxtxt
onnxtool quantize-dynamic --timeout 60 m.onnxtxt -o out.onnx | tail -n 1
