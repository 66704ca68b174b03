# Models of half precision on inputs of full precision, and --oracle where only outputs are known.
show() { echo "\$ onnxtool $*"; "$ONNXTOOL" "$@" 2>&1; echo "exit $?"; }
cat >full.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2] x) => (float[2] y) <float[2] w = {0.3, 3}> { y = Mul(x, w) }
END
cat >half.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float16[2] x) => (float16[2] y) <float16[2] w = {13517, 16896}> { y = Mul(x, w) }
END
cat >stored.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2] x) => (float[2] y) <bfloat16[2] w = {16026, 16448}> { v = Cast<to = 1>(w) y = Mul(x, v) }
END
cat >names.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2] a) => (float[2] x) { x = Identity(a) }
END
echo '{"a": [0.1, 100000]}' >large.json
"$ONNXTOOL" run names.onnx -i large.json -o large.npz
echo '{"x": [0.1, 7]}' >x.json
echo '{"x": {"dtype": "int32", "shape": [2], "data": [1, 7]}}' >integers.json
"$ONNXTOOL" run full.onnx -i x.json -o y.npz
echo '{"y": [0.03, 22]}' >wrong.json
echo "== each side takes the file's floats in its own width"
show parity half.onnx full.onnx -i x.json
show parity half.onnx full.onnx -i large.npz
show parity half.onnx full.onnx -i integers.json
echo "== what is expected against A in double precision"
show parity full.onnx --expected y.npz -i x.json --oracle
show parity half.onnx --expected y.npz -i x.json --oracle
show parity stored.onnx --expected y.npz -i x.json --oracle
show parity full.onnx --expected wrong.json -i x.json --oracle
"$ONNXTOOL" parity full.onnx --expected wrong.json -i x.json --oracle -f json 2>/dev/null | grep -o '"oracle":{[^}]*}'
