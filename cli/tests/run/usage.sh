cd "$TESTDATA/models" || exit 70
onnxtool run
onnxtool run -O3 "digits.onnx"
onnxtool run "digits.onnx"
