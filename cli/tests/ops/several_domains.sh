onnxtool ops Gelu | grep " of "
