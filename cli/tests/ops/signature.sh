onnxtool ops Slice
