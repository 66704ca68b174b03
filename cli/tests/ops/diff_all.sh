onnxtool ops --diff 13 --opset 14
