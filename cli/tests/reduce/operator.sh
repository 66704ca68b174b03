# The smallest part that still has an operator, by a program that fails where it is.
cat > lacks <<'END'
#!/bin/sh
for op; do :; done
text=$(onnxtool dump -f text "$op")
while [ $# -gt 1 ]; do
    case $text in *" $1 "*) ;; *) exit 0 ;; esac
    shift
done
echo "there is all that was asked for"
exit 3
END
chmod +x lacks
cat > nested.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[2] x, int64 n) => (float[2] y, float[2] z) <bool c = {1}> {
  a = Neg(x)
  b = f.twice(a)
  l = Loop(n, c, b) <body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] t) { co = Identity(ci) u = Abs(s) v = Exp(u) t = Add(v, x) }>
  y = Relu(l)
  z = Tanh(x)
}
<domain: "f", opset_import: ["" : 17]> twice (p) => (q) { r = Sin(p) q = Cos(r) }
END
for wanted in MaxPool Gemm "Relu MaxPool"; do
    "$ONNXTOOL" reduce "$TESTDATA/models/digits.onnx" -o small.onnx -- ./lacks $wanted {} && "$ONNXTOOL" check --full small.onnx && "$ONNXTOOL" dump -f nodes small.onnx
done
for wanted in Exp "Loop Exp" "Sin Relu" "Tanh Cos"; do
    "$ONNXTOOL" reduce nested.onnxtxt -o small.onnxtxt -- ./lacks $wanted {} && "$ONNXTOOL" check --full small.onnxtxt && cat small.onnxtxt && echo
done
# The file comes last where nothing stands for it; values of a run instead of inputs.
"$ONNXTOOL" reduce nested.onnxtxt --cut constants --random 3 -f json -o small.onnxtxt ./lacks Exp && "$ONNXTOOL" dump small.onnxtxt -f text --weights none
# Nothing is left in the folder for temporary files.
mkdir t && TMPDIR=$PWD/t "$ONNXTOOL" reduce -q nested.onnxtxt -o small.onnxtxt -- ./lacks Exp {} && ls t
