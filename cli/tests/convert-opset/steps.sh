# What is taken here and not by onnx's own converter.
onnxtool convert-opset --steps | sed -n '1,3p; /^20 to 19/p; /^ 2 to 1 /p'
onnxtool convert-opset --steps | grep -c " to "
