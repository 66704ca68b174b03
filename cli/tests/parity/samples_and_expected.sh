# Many samples, drawn, in one array, or in folders; expected outputs from files.
cat >a.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[3] x) => (float[3] y) { y = Mul(x, x) }
END
cat >b.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[3] x) => (float[3] y) <float two = {2}> { y = Pow(x, two) }
END
cat >c.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[3] x) => (float[3] y) <float most = {10}> { s = Mul(x, x) y = Min(s, most) }
END
echo '{"x": [[1, 2, 3], [0.5, 0, -0.25], [1, 4, 2]]}' >x.json
echo '{"y": [[1, 4, 9], [0.25, 0, 0.0625], [1, 16, 4]]}' >y.json
echo '{"y": [1, 4, 9]}' >wrong.json
show() { echo "\$ onnxtool $*"; "$ONNXTOOL" "$@" 2>&1; echo "exit $?"; }
show parity -O0 a.onnx b.onnx --random 3 --samples 5
show parity -O0 a.onnx c.onnx -i x.json
show parity -O0 a.onnx --expected y.json -i x.json
show parity -O0 a.onnx --expected wrong.json -i x.json -q
mkdir -p data/test_data_set_0
echo '{"x": [1, 2, 3]}' >one.json
"$ONNXTOOL" run a.onnx -i one.json -o data/test_data_set_0/
cat >id.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[3] x) => (float[3] y) { y = Identity(x) }
END
"$ONNXTOOL" run id.onnx -i one.json -o in/
cp in/output_0.pb data/test_data_set_0/input_0.pb
show parity -O0 a.onnx --test-data data
show parity -O0 c.onnx --test-data data --atol 0 --rtol 0
show parity a.onnx -O0 -O2 --test-data data -q

echo "== another seed: what does not depend on the inputs agrees"
cat >deaf.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[2] x, float[2] k) => (float[2] hears, float[2] deaf) <float zero = {0}>
{ hears = Add(x, k) n = Mul(x, zero) deaf = Add(n, k) }
END
echo '[0.5, 0.25]' >k.json
"$ONNXTOOL" parity deaf.onnx --random 1 --against-seed 2 --samples 4 -i k=k.json -f json 2>/dev/null | grep -o '"name":"[a-z]*","agree":[a-z]*'
"$ONNXTOOL" parity deaf.onnx --random 7 --against-seed 7 && echo the same
"$ONNXTOOL" parity deaf.onnx --against-seed 7 2>&1; echo "exit $?"
