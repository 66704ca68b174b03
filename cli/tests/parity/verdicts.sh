# Outputs by name; the reference is B; tolerances of one output, bounds on metrics, Polygraphy's rule.
cat >a.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2,3] x) => (float[2,3] first, float[2,3] second) { first = Relu(x) second = Mul(x, x) }
END
cat >b.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2,3] x) => (float[2,3] second, float[2,3] first)
<float small = {0.01}>
{ first = Relu(x) s = Mul(x, x) second = Add(s, small) }
END
cat >c.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2,3] x) => (float[2,3] first) { first = Relu(x) }
END
echo '{"x": [[1, -2, 3], [0.5, 0, -0.25]]}' >x.json
show() { echo "\$ onnxtool $*"; "$ONNXTOOL" "$@" 2>&1; echo "exit $?"; }
show parity -O0 a.onnx a.onnx -i x.json
show parity -O0 a.onnx b.onnx -i x.json
show parity -O0 a.onnx b.onnx -i x.json -q --tol second=0,0.02
show parity -O0 a.onnx b.onnx -i x.json -q --require 'cosine>=0.99,max_abs<=0.1'
show parity -O0 a.onnx b.onnx -i x.json -q --require 'sqnr>=90'
show parity -O0 a.onnx b.onnx -i x.json -q --agreement elementwise --rtol 0.2 --atol 0
show parity -O0 a.onnx b.onnx -i x.json -q --agreement elementwise --rtol 0 --atol 0.011
show parity -O0 a.onnx c.onnx -i x.json -f junit
show parity -O0 a.onnx b.onnx -i x.json -f json --metric | sed 's/,"/,\n"/g'
