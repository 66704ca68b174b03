cat > good.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 13]>
agraph (float[2] X) => (float[2] C) { C = Relu(X) }
X
sed 's/Relu/Rely/' good.onnxtxt > 'a bad one.onnxtxt'
printf '%s\n' good.onnxtxt 'a bad one.onnxtxt' good.onnxtxt > list
onnxtool check -j 3 --files-from list good.onnxtxt
