# BatchNormalization with spatial 0 is arithmetic from opset 9 on; statistics laid flat are told, not guessed.
model() {
    cat <<M
<ir_version: 3, opset_import: ["" : $1]> g (float[N,2,3] x) => (float[N,2,3] y)
<float$2 s = {1, 2, 3, 4, 5, 6}, float$2 b = {0, 1, 0, 1, 0, 1}, float$2 m = {0, 0.5, 1, 1.5, 2, 2.5}, float$2 v = {1, 2, 3, 4, 5, 0.25}>
{ y = BatchNormalization<spatial = 0, epsilon = 0.01> (x, s, b, m, v) }
M
}
model 7 '[2,3]' > m.txt
onnxtool convert-opset m.txt --to 9 -o up.onnx | sed 's/largest difference [^,]*, relative .*/near/' && onnxtool check --full up.onnx
onnxtool dump up.onnx -f text | grep -c BatchNormalization
model 7 '[6]' > m.txt
onnxtool convert-opset m.txt --to 9 -o flat.onnx
echo "exit $?"
