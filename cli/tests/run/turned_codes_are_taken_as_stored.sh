# Codes of a large table of words that a Transpose turns for the last product, as onnxruntime's quantizers write it: QDQ, by columns, and as
# MatMulInteger. The product takes them as they are stored; each run turned and packed them.
head -c 5242880 /dev/zero | tr '\0' '\203' >w.bin
printf '\001\177\200\376' | dd of=w.bin conv=notrunc bs=1 seek=1000 status=none
head='<ir_version: 8, opset_import: ["" : 17]>
g (int64[3] i) => (float[3,65536] y)
<uint8[65536,80] table = ["location": "w.bin"], float s = {0.0078125}, uint8 z = {128},'
cat >qdq.onnxtxt <<MODEL
$head float t = {0.5}>
{
    d = DequantizeLinear (table, s, z)
    h = Gather (d, i)
    a = QuantizeLinear (h, s, z)
    b = DequantizeLinear (a, s, z)
    w = Transpose <perm = [1, 0]> (d)
    v = QuantizeLinear (w, s, z)
    u = DequantizeLinear (v, s, z)
    y = MatMul (b, u)
}
MODEL
cat >dynamic.onnxtxt <<MODEL
$head float t = {0.25}>
{
    h = Gather (table, i)
    x = DequantizeLinear (h, s, z)
    a, r, p = DynamicQuantizeLinear (x)
    w = Transpose (table)
    m = MatMulInteger (a, w, p, z)
    f = Cast <to = 1> (m)
    k = Mul (r, t)
    y = Mul (f, k)
}
MODEL
head -c 262144 /dev/zero | tr '\0' '\074' >c.bin
cat >columns.onnxtxt <<MODEL
$head float[65536] c = ["location": "c.bin"]>
{
    h = Gather (table, i)
    b = DequantizeLinear (h, s, z)
    w = Transpose <perm = [1, 0]> (table)
    d = DequantizeLinear <axis = 1> (w, c)
    y = MatMul (b, d)
}
MODEL
echo '[3, 12, 1]' >i.json
for model in qdq dynamic columns; do
    onnxtool run $model.onnxtxt -i i.json -q -o y.npy --repeat 2 --profile p.txt
    awk 'NR > 1 { print $7 }' p.txt | grep -E "MatMul|Transpose"
    onnxtool parity $model.onnxtxt -O0 -O2 -i i.json >/dev/null && echo equal
done
