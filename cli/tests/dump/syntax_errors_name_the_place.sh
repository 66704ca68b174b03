printf '<ir_version: 8>\ng (float[N] X) => (float[N] Y) {\n  Y = Relu(X\n}\n' > a.onnxtxt
printf '<ir_version: 8>\ng (float[N] X) => (float[N] Y) { Y = Relu <a = "no end> (X) }\n' > b.onnxtxt
printf '<ir: 8>\ng () => () { }\n' > c.onnxtxt
printf '{"irVersion": "8", "graph": {"nodes": []}}' > d.json
printf '{"irVersion": "eight"}' > e.json
onnxtool dump a.onnxtxt b.onnxtxt c.onnxtxt d.json e.json
