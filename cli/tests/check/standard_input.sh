onnxtool check - < "$TESTDATA/models/digits.onnx"
