onnxtool shape-infer nothing.onnx
