echo 'no model at all' > text.onnx
: > empty.onnx
onnxtool check -f json text.onnx empty.onnx missing.onnx .
