onnxtool ops --coverage Upsample
onnxtool ops --coverage --opset 9 -f json Upsample
