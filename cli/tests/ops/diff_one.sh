onnxtool ops --diff 6 Relu
onnxtool ops --diff 14 Relu
onnxtool ops --diff 12 HardSwish
