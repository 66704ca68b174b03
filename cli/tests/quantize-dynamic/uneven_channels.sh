# Channels between two layers are evened out where each has a bias of its own and there is one at all.
model() { printf '<ir_version: 8, opset_import: ["" : 17]>\n%s\n' "$1" >m.onnx; }
near() { onnxtool quantize-dynamic m.onnx -o q.onnx && onnxtool parity m.onnx q.onnx --random 1 --require 'sqnr>=40' >/dev/null && echo near; }
echo a bias a channel
model 'g (float[2,4] x) => (y) <float[4,3] w = {1, 2, 300, 4, 5, 600, 7, 8, 900, 10, 11, 1200}, float[3] b = {5000, 1, 2}, float[3,2] v = {100, 200, 3, 4, 0.5, 0.6}> {
    [one] t = Gemm(x, w, b) r = Relu(t) [two] y = Gemm(r, v) }'
near
echo one bias for all
model 'g (float[2,4] x) => (y) <float[4,3] w = {1, 2, 300, 4, 5, 600, 7, 8, 900, 10, 11, 1200}, float[1] b = {5000}, float[3,2] v = {100, 200, 3, 4, 0.5, 0.6}> {
    [one] t = Gemm(x, w, b) r = Relu(t) [two] y = Gemm(r, v) }'
near
full='float[4,2,1] w = {1, 2, 300, 4, 5, 600, 7, 8}'
for weights in "$full, float[0,4,1] v = {}" "$full, float[3,4,0] v = {}" 'float[0,2,1] w = {}, float[3,0,1] v = {}'; do
    echo "no weights: $weights"
    model "g (float[1,2,5] x) => (y) <$weights> { t = Conv(x, w) r = Relu(t) y = Conv(r, v) }"
    onnxtool quantize-dynamic m.onnx -o q.onnx
    echo $?
done
for group in 0 -1 3; do
    echo "groups: $group"
    model "g (float[1,2,5] x) => (y) <float[4,2,1] w = {1, 2, 300, 4, 5, 600, 7, 8}, float[2,4,1] v = {1, 2, 3, 4, 5, 6, 7, 800}> {
        t = Conv <group: int = $group> (x, w) r = Relu(t) y = Conv(r, v) }"
    onnxtool quantize-dynamic m.onnx -o q.onnx
    echo $?
done
