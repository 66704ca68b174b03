onnxtool shape-infer --overwrite m.onnx
