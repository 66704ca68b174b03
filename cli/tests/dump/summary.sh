cp "$TESTDATA/models/digits.onnx" .
onnxtool dump digits.onnx
onnxtool dump --json digits.onnx
