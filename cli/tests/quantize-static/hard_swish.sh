# HardSwish between convolutions becomes a gate and a product of integers, by one scale for all gates. Of int8, which several may not read, it stays.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,6,6] x) => (float[1,4,6,6] y, float[1,4,6,6] z)
<float[4,4,1,1] w = {1, 2, 3, 4, -1, 2, 1, 3, 2, 2, -3, 1, 4, 1, 2, -2}>
{
    a = Conv (x, w)
    b = HardSwish (a)
    c = Conv (b, w)
    d = HardSwish (c)
    e = Conv (d, w)
    z = HardSwish (e)
    y = Conv (z, w)
}
MODEL
mkdir data
for k in 1 2 3; do
    onnxtool run m.onnxtxt --random $k -q --outputs x -o data/$k.npz
done
onnxtool quantize-static m.onnxtxt -o q.onnx -q --calibration data
onnxtool dump q.onnx -f text | grep -oE '= (HardS|Mul)[a-z]*[^(]*\([^)]*\)'
onnxtool dump q.onnx -f text | grep -oE 'gate_scale = .{9}'
onnxtool check --full q.onnx
onnxtool parity q.onnx m.onnxtxt --random 2 --require 'sqnr>=25' >/dev/null && echo near
onnxtool quantize-static m.onnxtxt -o q.onnx -q --calibration data --activation-type qint8
onnxtool dump q.onnx -f text | grep -cE 'HardSwish'
# What is before may be an output, which the convolution then makes under a name of its own.
sed 's/float\[1,4,6,6\] z)/float[1,4,6,6] a)/' m.onnxtxt >o.onnxtxt
onnxtool quantize-static o.onnxtxt -o q.onnx -q --calibration data
onnxtool dump q.onnx -f text | grep -oE '= (HardS|Mul)[a-z]*[^(]*\(' | sort | uniq -c
