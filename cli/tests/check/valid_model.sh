onnxtool check --full "$TESTDATA/models/digits.onnx" | sed "s|$TESTDATA/||"
