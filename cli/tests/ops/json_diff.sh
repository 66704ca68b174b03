onnxtool ops -f json --diff 12 --opset 13 Softmax | sed -n "/\"changes\"/,\$p"
