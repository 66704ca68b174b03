# What overflows on large inputs alone is found when the proof meets it.
cat >m.txt <<'M'
<ir_version: 8, opset_import: ["" : 17]> g (float[N,64] x) => (float[N,64] y)
<float k = {50}>
{ s = Mul(x, k) p = Mul(s, s) y = Log(p) }
M
onnxtool optimize --fp16 m.txt -o half.onnx | grep -v verified
onnxtool dump -f text half.onnx | grep -E 'Mul|Log'
