# What opset 1 calls bilinear is linear from opset 7 on, in Resize too.
printf '<ir_version: 3, opset_import: ["" : 1]> g (float[1,1,2,2] x) => (float[1,1,4,6] y) {
  y = Upsample<mode = "bilinear", height_scale = 2.0, width_scale = 3.0>(x)
}' > m.txt
onnxtool convert-opset m.txt --to 13 -o up.onnx
onnxtool dump -f nodes up.onnx | grep -c Resize
onnxtool convert-opset up.onnx --to 1 -o down.onnx
onnxtool dump -f text down.onnx | grep Upsample
