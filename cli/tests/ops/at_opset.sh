onnxtool ops --opset=9 Slice Upsample
