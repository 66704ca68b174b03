onnxtool check --target onnxruntim model.onnx
onnxtool check --target onnxruntime=1.2 model.onnx
onnxtool check --target onnxruntime:gpu model.onnx
onnxtool check --target cuda model.onnx
onnxtool check --target onnxruntime=1.14-1.16 model.onnx
onnxtool check --target onnxruntime= model.onnx
