onnxtool target list | grep -E '^(TARGET|onnxruntime=1\.(4|16|32)\.[0-9]+:(cpu|cuda)|tensorrt|openvino)'
onnxtool check --target list | cmp - <(onnxtool target list) && echo same
