# Editors put a mark before text; files of other kinds are told by what they are.
printf '\357\273\277<ir_version: 8, opset_import: ["" : 17]>\r\ng (float[N] x) => (float[N] y) { y = Relu (x) }\r\n' >m.onnxtxt
printf '\357\273\277' >mark.onnx
printf '\200\004\225\n' >m.pkl
printf '<?xml version="1.0"?><net/>' >m.xml
onnxtool check m.onnxtxt
for m in mark.onnx m.pkl m.xml; do
    onnxtool check $m 2>&1 || echo $?
done
onnxtool optimize -q m.onnxtxt -o '' 2>&1 || echo $?
