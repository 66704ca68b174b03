echo 'no model at all' > text.onnx
: > empty.onnx
mkdir folder
onnxtool check -f json text.onnx empty.onnx missing.onnx folder
