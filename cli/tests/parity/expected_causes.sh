# Only outputs are known: what would make A's agree.
"$ONNXTOOL" run "$TESTDATA/models/digits.onnx" --random 3 -o logits.npz -q
"$ONNXTOOL" run "$TESTDATA/models/digits.onnx" --random 3 --save-test-data data -o x.npz -q
cat >scale.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,28,28] x) => (float[1,1,28,28] y) <float k = {255}> { y = Mul(x, k) }
END
cat >softmax.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,10] logits) => (float[1,10] y) { y = Softmax(logits) }
END
cat >noise.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,10] logits) => (float[1,10] y) { c = Cos(logits) y = Add(c, logits) }
END
"$ONNXTOOL" run scale.onnxtxt -i x=data/input_0.pb -o bytes.npz -q
"$ONNXTOOL" run softmax.onnxtxt -i logits=logits.npz -o softmax.npz -q
"$ONNXTOOL" run noise.onnxtxt -i logits=logits.npz -o noise.npz -q
hold() { echo "\$ $*"; "$ONNXTOOL" parity "$TESTDATA/models/digits.onnx" --bisect "$@" 2>/dev/null | sed -n '/divergence/,$p'; echo "exit ${PIPESTATUS[0]}"; }
hold --expected logits.npz -i input=bytes.npz
hold --expected softmax.npz -i input=data/input_0.pb --pair logits=y
hold --expected noise.npz -i input=data/input_0.pb --pair logits=y
hold --expected logits.npz -i input=data/input_0.pb
for form in json junit; do hold --expected logits.npz -i input=bytes.npz -f $form | grep -oE '"first_divergence.*|first divergence: [^(]*|exit .*'; done
hold --expected logits.npz -i input=bytes.npz -f html | grep -c 'input-values'
