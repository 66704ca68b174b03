# -q: no reports of what was done, no warnings. What a form is asked for by name (-f json), and what a command is there to print, comes.
printf '<ir_version: 8, opset_import: ["" : 13]> g (float[1,4] x) => (float[1,4] y)
<float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}> { i = Identity(x) m = MatMul(i, w) y = HardSwish(m) }' > bad.txt
sed 's/HardSwish/Relu/' bad.txt > m.txt
quiet() { "$@" > out 2> err; echo "$? $(wc -l < out) $(wc -l < err) $*"; }
quiet onnxtool check -q --lint m.txt
quiet onnxtool check -q bad.txt
quiet onnxtool convert-opset -q m.txt --to 15 -o c.onnx
quiet onnxtool convert-opset -q c.onnx --to 13 -n
quiet onnxtool convert-opset -q m.txt --to 15 -f json
quiet onnxtool optimize -q m.txt -o o.onnx
quiet onnxtool quantize-dynamic -q m.txt -o d.onnx
quiet onnxtool quantize-dynamic -q m.txt --dry-run
quiet onnxtool shape-infer -q m.txt -o s.onnx
quiet onnxtool external-data pack -q c.onnx -o e.onnx --threshold 1
quiet onnxtool external-data verify -q e.onnx
quiet onnxtool external-data gc -q e.onnx
rm e.onnx.data && quiet onnxtool external-data verify -q e.onnx
quiet onnxtool diff -q m.txt c.onnx
quiet onnxtool run -q m.txt --random 1
quiet onnxtool parity -q m.txt o.onnx --random 1
quiet onnxtool run -q m.txt --random 1 -f json
quiet onnxtool ops -q Relu
