# Transposed convolutions have integer weights alone where the samples show that it gains: by request, or for a budget.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,1,4,4] x) => (float[batch,1,4,4] y)
<float[1,1,1,1] w = {2}, float[1,1,1,1] v = {0.5}>
{
    ["first"] c = ConvTranspose (x, w)
    ["cube"] s = Mul (c, c)
    ["second"] y = ConvTranspose (s, v)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,1,4,4] a) => (float[batch,1,4,4] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x1x4x4 -o all.npz >/dev/null
for how in '' '--accuracy best' '--max-drop 60'; do
    echo "--- $how"
    # shellcheck disable=SC2086
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz $how | grep -oE 'weights alone of transposed convolutions|. of . nodes quantized'
    onnxtool dump q.onnx -f text | grep -oE 'ConvTranspose \(.*' | sed 's/  *$//'
done
