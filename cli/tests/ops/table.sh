onnxtool ops | head -n 4
onnxtool ops --domain ai.onnx.preview.training
onnxtool ops --opset 1 | grep -E "^(Abs|Upsample|Slice|Gelu) "
onnxtool ops --opset 28 | grep -E "^(Abs|Upsample|Slice|Gelu) "
