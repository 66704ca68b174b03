# A large constant that a style scales before a convolution takes it as weights is stored as integers.
cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : 17]>
g (float[1,16,6,6] x, float[1,1,16,1,1] style) => (float[1,32,4,4] y)
<float[4608] flat = {$(seq -s, 1 4608)}, int64[5] five = {1, 32, 16, 3, 3}, int64[4] four = {32, 16, 3, 3}>
{
    stored = Reshape (flat, five)
    scaled = Mul (stored, style)
    w = Reshape (scaled, four)
    y = Conv (x, w)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx
onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE '(int8\[1, ?32, ?16, ?3, ?3\]|= (Cast|Mul|Conv) ?[<(])' | sort | uniq -c
[ "$(wc -c <q.onnx)" -lt 6000 ] && echo small
onnxtool parity q.onnx m.onnxtxt --random 2 --atol 1500 --rtol 0.02 >/dev/null && echo near
