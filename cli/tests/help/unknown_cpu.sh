ONNXTOOL_CPU=avx9 onnxtool ops Relu
