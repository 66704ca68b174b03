onnxtool run
onnxtool run -O3 "$TESTDATA/models/digits.onnx"
onnxtool run "$TESTDATA/models/digits.onnx"
