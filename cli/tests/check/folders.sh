# A folder stands for the models beneath it, in the order of their names.
write() { printf '<ir_version: 8, opset_import: ["" : 13]>\nagraph (float[2] X) => (float[2] C) { C = %s(X) }\n' "$2" > "$1"; }
mkdir -p 'zoo/a b/c' zoo/.hidden zoo/empty
write zoo/m10.onnxtxt Relu
write zoo/m9.onnxtext Abs
write 'zoo/a b/c/deep.onnx' Neg
write 'zoo/a b/bad.onnxtxt' Rely
write zoo/.hidden/m.onnx Relu
write zoo/.m.onnx Relu
echo '{}' > zoo/config.json
echo notes > zoo/notes.txt
ln -s .. 'zoo/a b/circle'
ln -s m9.onnxtext zoo/link.onnx
onnxtool check zoo
echo "exit $?"
onnxtool check -q zoo/ m 2>&1
onnxtool check -v zoo/m9.onnxtext zoo/m10.onnxtxt
onnxtool shape-infer -f json 'zoo/a b/c' | wc -l
onnxtool check --shard 2/2 zoo 2>&1
onnxtool check zoo/empty
onnxtool dump -o out zoo 2>&1
onnxtool dump -o out --log log zoo/m10.onnxtxt 2>&1
onnxtool shape-infer -o out.onnx --files-from /dev/null zoo/m10.onnxtxt
