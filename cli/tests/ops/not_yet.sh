onnxtool ops --opset 13 Gelu
