onnxtool ops --opset 29; echo $?
onnxtool ops --opset 0; echo $?
onnxtool ops --opset 6 --domain ai.onnx.ml; echo $?
onnxtool ops --diff 14 --opset 13
