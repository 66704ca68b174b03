# So is one that is too large for copies of it to be made lightly.
yes '>?' | head -c 20971520 >w.bin
cat >m.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (int64[N] i) => (float[N,65536] y)
<float[65536,80] table = ["location": "w.bin", "offset": "0"]>
{
    ["lookup"] h = Gather (table, i)
    k = Tanh (h)
    w = Transpose <perm = [1, 0]> (table)
    ["product"] y = MatMul (k, w)
}
MODEL
echo '[3, 0, 1]' >i.json
mkdir data
onnxtool run m.onnxtxt -i i.json -q --outputs i -o data/i.npz
for how in quantize-dynamic 'quantize-static --calibration data'; do
    echo "--- $how"
    # shellcheck disable=SC2086
    onnxtool $how m.onnxtxt -o q.onnx -q
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '[a-z0-9]*\[[0-9]*,[0-9]*\] [a-z_]*(table|w|quantized) '
    onnxtool parity q.onnx m.onnxtxt -i i.json --require 'sqnr>=35' >/dev/null && echo near
done
