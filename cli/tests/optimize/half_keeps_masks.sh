# A mask's -3.4e38 is minus infinity in a half, and of a row that is masked whole Softmax then makes NaN: these nodes stay in float. Drawings
# of size 1 alone would not show it.
cat > masked.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[B,T] x, bool[B,T] keep) => (float[B,T] y) {
    least = Constant <value = float {-3.4028235e38}> ()
    s = Mul(x, x)
    w = Where(keep, s, least)
    y = Softmax(w)
}
M
onnxtool optimize --fp16 masked.onnxtxt -o out.onnx
onnxtool dump -f text out.onnx | grep -E "Where|Softmax|Mul"
