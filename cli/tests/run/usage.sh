cp "$TESTDATA/models/digits.onnx" .
onnxtool run
onnxtool run -O3 digits.onnx
onnxtool run digits.onnx
