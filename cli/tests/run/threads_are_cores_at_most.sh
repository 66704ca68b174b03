# More threads than cores wait for each other.
cp "$TESTDATA/models/digits.onnx" .
threads() { onnxtool run digits.onnx --random 1 -f json "$@" | grep '"threads"'; }
[ "$(threads -t 4096)" = "$(threads)" ] && echo the cores
threads -t 1
