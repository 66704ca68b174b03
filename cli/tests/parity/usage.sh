# Wrong calls, each with its exit status.
cat >a.onnx <<'END'
<ir_version: 10, opset_import: ["" : 20]>
g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }
END
show() { echo "\$ onnxtool $*"; "$ONNXTOOL" "$@" 2>&1; echo "exit $?"; }
show parity
show parity a.onnx --random 1
show parity a.onnx absent.onnx --random 1
show parity a.onnx a.onnx
show parity a.onnx a.onnx --random 1 --tol y
show parity a.onnx a.onnx --random 1 --require 'beauty>=1'
show parity a.onnx a.onnx --random 1 --rtol -1
show parity a.onnx a.onnx --samples 3
show parity a.onnx a.onnx --expected y.npz
show parity a.onnx --expected absent.npz --random 1
show parity a.onnx --engine nonesuch --random 1
show parity a.onnx -O0 -O7 --random 1
show parity a.onnx --expected y.npz --random 1 --layers
show parity a.onnx --cpu c --random 1 --layers
show parity a.onnx --cpu fast --random 1
# A level of another architecture is on no machine beside c.
"$ONNXTOOL" parity a.onnx --cpu c --cpu "$(uname -m | sed 's/x86_64/neon/; t; s/.*/avx2/')" --random 1 >/dev/null 2>&1
echo "a foreign level: exit $?"
