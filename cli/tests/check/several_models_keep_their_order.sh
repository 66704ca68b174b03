cat > good.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 13]>
agraph (float[2] X) => (float[2] C) { C = Relu(X) }
X
sed 's/Relu/Rely/' good.onnxtxt > 'a bad one.onnxtxt'
# A NUL ends a name, not its line: each of many was a name, past the end of the list.
{ printf 'good.onnxtxt'; head -c 100000 /dev/zero; printf '\ngood.onnxtxt\n'; } > zeros
onnxtool check --files-from zeros
printf '%s\n' good.onnxtxt 'a bad one.onnxtxt' good.onnxtxt > list
onnxtool check -j 3 --files-from list good.onnxtxt
