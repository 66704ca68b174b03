onnxtool ops -f json Squeeze
