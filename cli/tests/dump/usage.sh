printf '<ir_version: 8, opset_import: ["" : 13]>\ng (float[1] x) => (y) { y = Relu (x) }\n' > m.onnxtxt
for arguments in "--json -f text" "--node a --tensor b" "--extract x:y" "-o out m.onnxtxt" "--input z=3" "--graph a.b"; do
    onnxtool dump $arguments m.onnxtxt 2>&1; echo "exit $?"
done
onnxtool dump --input x=1x2 m.onnxtxt 2>&1; echo "exit $?"
