cp "$TESTDATA/models/digits.onnx" .
M=digits.onnx
onnxtool run "$M" -i input=missing.npy
echo '[1, 2]' > two.json
onnxtool run "$M" -i input=two.json
onnxtool run "$M" -i other=two.json
onnxtool run "$M" --random x
onnxtool run "$M" --random 1 --shape input=1x2
onnxtool run "$M" --random 1 --outputs nothing
onnxtool run "$M" --random 1 -o out.xyz
