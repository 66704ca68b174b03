# Neighbours of a sum saturate together where there is no VNNI: of a product along what is summed, of a convolution channels of one tap,
# with an odd number of them over taps, and nothing where each channel has a kernel of its own. On x86 int8 activations become
# uint8 between Q and DQ, but not in operators on integers.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2,1,2] x) => (float[batch,2] y)
<float[2,2,1,2] channels = {1, 0, 1, 0, 0.1, 0, 0, 0}, float[3,2,1,1] three = {1, 0.5, -0.5, 0.2, 0.3, -1}, float[2,3,1,2] over_taps = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
 float[2,2,1,2] taps = {1, 1, 0, 0, 0, 0, -1, -1}, float[2,1,1,1] own = {1, 1}, float[2,2] rows = {1, 1, 0, 0.1}, float[2,2] columns = {1, 1, 0, 0.1}, int64[2] flat = {-1, 2}>
{
    ["a"] a = Conv <pads = [0, 0, 0, 1]> (x, channels)
    ["b"] b = Conv (a, three)
    ["c"] c = Conv <pads = [0, 0, 0, 1]> (b, over_taps)
    ["d"] d = Conv (c, taps)
    ["e"] e = Conv <group = 2> (d, own)
    ["f"] f = Reshape (e, flat)
    ["h"] h = Gemm <transB = 1> (f, rows)
    ["i"] i = Tanh (h)
    ["j"] y = MatMul (i, columns)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2,1,2] a) => (float[batch,2,1,2] x) { x = Identity (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2x1x2 -o all.npz >/dev/null
show() {
    echo "--- $*"
    onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz "$@" -f json >report.json || return
    grep -E '"(name|kind|saturates)"' report.json | paste - - - | grep 'weight.*true' | grep -o '"name": "[a-z_]*"'
    grep -oE '"(saturating|widened)_weights": [0-9]*|"most_widened": .*|weights (whose|with).*[^",]' report.json
    onnxtool run q.onnx -i all.npz -O2 -o exact.npz -q && onnxtool run q.onnx -i all.npz -O2 --simulate avx2-saturating -o simulated.npz -q
    if cmp -s exact.npz simulated.npz; then echo "the same where pairs saturate"; fi
}
exact="--accuracy plain --processor exact"
show --per-tensor $exact
show --per-tensor $exact --activation-type qint8
show --per-tensor $exact --activation-type qint8 --quant-format qoperator
# What samples show does not saturate, what others might may.
show --per-tensor --accuracy plain
show --accuracy plain --per-channel
show --per-tensor --accuracy plain --activation-type qint8
show --per-tensor --accuracy plain --activation-type qint8 --quant-format qoperator
show --per-tensor
show --per-tensor --accuracy plain --reduce-range
show --per-tensor --accuracy plain --weight-type quint8
show --compat ort --quant-format qoperator
show --per-tensor --accuracy plain --processor avx2-saturating
show --per-tensor --accuracy plain --processor avx2-saturating --activation-type qint8
onnxtool dump q.onnx --tensor over_taps_quantized | tail -n 1
onnxtool dump q.onnx --tensor taps_quantized | tail -n 1
show --accuracy plain --processor avx2-saturating --per-channel
grep -E '"(name|widened)"' report.json | paste - - | grep 'rows"'
onnxtool dump q.onnx --tensor rows_quantized | tail -n 1
onnxtool dump q.onnx --tensor rows_scale | tail -n 1
show --per-tensor --accuracy plain --processor avx2-saturating --weight-type quint8
show --per-tensor --processor avx2-saturating --accuracy best
onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration all.npz --processor avx2-saturating --report r.html
grep -o '<p>Scales[^<]*' r.html
show --per-tensor --processor avx2-saturating --reduce-range
show --processor avx2-saturating --compat ort
# Integers that are there already may saturate, which judging tells.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,2] x) => (float[batch,2] y)
<int8[2,2] w = {127, 100, 127, -100}, float one = {0.01}, float[2,2] v = {1, 0.3, 0.2, 1}>
{
    q, s, z = DynamicQuantizeLinear (x)
    i = MatMulInteger (q, w, z)
    f = Cast <to = 1> (i)
    m = Mul (s, one)
    a = Mul (f, m)
    y = MatMul (a, v)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,2] a) => (float[batch,2] x) { x = Abs (a) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x2 -o all.npz >/dev/null
for processor in exact avx2-saturating; do
    onnxtool quantize-static --per-tensor m.onnxtxt -o q.onnx --calibration all.npz --processor $processor | grep dB
done
