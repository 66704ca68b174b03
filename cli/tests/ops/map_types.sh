onnxtool ops --domain ai.onnx.ml ZipMap
