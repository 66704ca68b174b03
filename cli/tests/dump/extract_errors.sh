printf '<ir_version: 8, opset_import: ["" : 13]>\ng (float[2] x, float[2] u) => (y) { a = Add (x, u) y = Relu (a) }\n' > m.onnxtxt
for what in a:nothing nothing:y x:y y:a a:y,y a y: a,u:y; do
    onnxtool dump --extract "$what" -o out.onnx m.onnxtxt; echo "$what: exit $?"
done
ls
