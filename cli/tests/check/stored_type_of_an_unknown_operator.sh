# What is stored of an operator that nobody knows is no rule: a graph that departs from it runs. A contradiction beside it stays one.
printf '<ir_version: 10, opset_import: ["" : 21, "c" : 1]> g (float[N,4] x) => (float[N] y) <float[N,4] t> { t = c.Op(x) y = Relu(t) }' > m.txt
onnxtool check --full m.txt
printf '<ir_version: 10, opset_import: ["" : 21, "c" : 1]> g (float[N,4] x) => (float[N] y) { t = c.Op(x) y = Relu(x) }' > m.txt
onnxtool check --full m.txt
