# Paddle's exporter calls all open dimensions "?", which makes them no more equal than the syntax's own ? does.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,"?","?"] x) => (y) { y = Transpose<perm=[0,1,3,2]>(x) }' > m.txt
onnxtool shape-infer m.txt
onnxtool shape-infer m.txt -o o.onnx >/dev/null
onnxtool dump -f text o.onnx | grep '=>'
