# On x86 onnxruntime runs a convolution of int8 activations in float where its input or output goes to several nodes.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,4,4] x) => (float[batch,2,4,4] y)
<float[2,2,1,1] w1 = {1, 0.5, 0.5, -1}, float[2,2,1,1] w2 = {0.7, 1, -0.5, 2}>
{
    ["first"] a = Conv (x, w1)
    ["second"] b = Conv (a, w2)
    ["third"] c = Conv (b, w1)
    ["sum"] d = Add (a, c)
    ["fourth"] e = Conv (d, w2)
    ["fifth"] f = Conv (e, w2)
    ["tanh"] y = Tanh (f)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,4,4] a) => (float[batch,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
for type in qint8 quint8; do
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain --activation-type $type -v | grep unfused
done
echo "--- products of what is made in float have Q and DQ of their own there, one apart from what else reads it"
cat >p.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x) => (float[batch,4] y, float[batch,4] z)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 2}>
{
    ["tanh"] t = Tanh (x)
    ["first"] f = MatMul (t, a)
    ["second"] s = MatMul (t, b)
    ["sum"] y = Add (f, t)
    ["turned"] z = Tanh (s)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 -o all.npz >/dev/null
for type in qint8 quint8; do
    onnxtool quantize-static p.onnxtxt -o q.onnx --calibration all.npz --accuracy plain --activation-type $type -v | grep unfused
    onnxtool dump q.onnx -f text | grep -cE ' QuantizeLinear '
done
echo "--- and of a sum: two convolutions behind it, and one beside the next sum; our own engine takes the pairs for one again"
cat >r.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,4,4] x) => (float[batch,2,4,4] y)
<float[2,2,1,1] w = {1, 0.5, 0.5, -1}, float[2,2,1,1] v = {0.7, 1, -0.5, 2}>
{
    ["a"] a = Conv (x, w)
    ["b"] b = Conv (x, v)
    ["s"] s = Add (a, b)
    ["relu"] r = Relu (s)
    ["c"] c = Conv (r, w)
    ["d"] d = Conv (r, v)
    ["t"] t = Add (c, d)
    ["e"] e = Conv (t, w)
    ["u"] u = Add (e, t)
    ["tanh"] y = Tanh (u)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,4,4] a) => (float[batch,2,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x4x4 -o all.npz >/dev/null
for type in qint8 quint8; do
    onnxtool quantize-static r.onnxtxt -o q.onnx --calibration all.npz --accuracy plain --activation-type $type -v | grep unfused
    onnxtool dump q.onnx -f text | grep -E ' QuantizeLinear ' | sed 's/.* QuantizeLinear (\([a-z]*\),.*/\1/' | sort | uniq -c
    onnxtool run q.onnx --random 1 --shape x=1x2x4x4 --profile p.txt >/dev/null
    grep -c ' QuantizeLinear ' p.txt
done
