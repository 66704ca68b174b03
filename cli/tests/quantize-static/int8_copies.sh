# Of int8 activations one node reads each pair of Q and DQ, or onnxruntime on x86 keeps the convolution in float: before swish and beside a sum
# a Sum of nothing else is that node. Our own engine takes it for nothing.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,2,4,4] x) => (float[n,2,4,4] y)
<float[2,2,1,1] w = {1, -2, 0.5, 3}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}, float[2,2,1,1] u = {0.7, 1, -0.5, 2}>
{
    ["first"] a = Conv (x, w)
    g = Sigmoid (a)
    s = Mul (a, g)
    ["second"] b = Conv (s, v)
    ["third"] c = Conv (b, u)
    d = Add (b, c)
    y = Tanh (d)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2,4,4] a) => (float[n,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
for options in '--activation-type quint8' '--activation-type qint8' '--activation-type qint8 --symmetric-activation'; do
    echo "--- $options"
    onnxtool quantize-static --per-tensor m.onnxtxt -q -o q.onnx --calibration all.npz --accuracy plain $options
    onnxtool check q.onnx
    onnxtool dump q.onnx -f text | grep -oE '[a-z_0-9]* = Sum .*|= Conv|QuantizeLinear \([a-z_0-9]*,' | grep -v '^[A-Za-z]*DequantizeLinear' | sort
    onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x2x4x4 --rtol 0.05 --atol 0.1 >out && echo near
done
onnxtool quantize-static --per-tensor m.onnxtxt -q -o q.onnx --calibration all.npz --accuracy plain --activation-type qint8
onnxtool run q.onnx --random 1 --shape x=1x2x4x4 --profile p.txt >/dev/null
grep -cE ' (Sum|QuantizeLinear|DequantizeLinear) ' p.txt
echo "--- through a Transpose"
sed 's/g = Sigmoid (a)/t = Transpose <perm = [0, 2, 3, 1]> (a) h = Sigmoid (t) m = Mul (t, h)/; s/s = Mul (a, g)/s = Transpose <perm = [0, 3, 1, 2]> (m)/' m.onnxtxt >t.onnxtxt
onnxtool quantize-static --per-tensor t.onnxtxt -q -o q.onnx --calibration all.npz --accuracy plain --activation-type qint8
onnxtool dump q.onnx -f text | grep -oE '[a-z_0-9]* = Sum .*'
