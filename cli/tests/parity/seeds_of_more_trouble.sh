# More of what exporters and people do, each named by one command.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'; }
model() { printf '<ir_version: 10, opset_import: ["" : 23]>\n%s\n' "$2" >"$1.onnx"; }
# The same numbers in the order that an expression of the counter n gives: numbers COUNT EXPRESSION.
numbers() { for ((n = 0; n < $1; n++)); do i=$(($2)); v=$(((i * 7919 + 104729) % 2003 - 1001)); printf '%s%d.%03d' "$([ $n -gt 0 ] && echo ,)$([ $v -lt 0 ] && echo -)" 0 ${v#-}; done; }

echo "== BGR weights for RGB pictures"
for order in rgb bgr; do
    at=$([ $order = rgb ] && echo n || echo 'n / 27 * 27 + (2 - n / 9 % 3) * 9 + n % 9')
    model $order "g (float[1,3,5,5] image) => (float[1,4,3,3] y) <float[4,3,3,3] w = {$(numbers 108 "$at")}>
{ [conv] c = Conv(image, w) [act] y = Relu(c) }"
done
show bgr.onnx rgb.onnx --random 1

echo "== pixels not divided by 255"
w=$(numbers 54 n)
model scaled "g (float[1,3,4,4] image) => (float[1,2,2,2] y) <float by = {0.00392156863}, float[2,3,3,3] w = {$w}>
{ [rescale] s = Mul(image, by) [conv] c = Conv(s, w) [act] y = Relu(c) }"
model unscaled "g (float[1,3,4,4] image) => (float[1,2,2,2] y) <float[2,3,3,3] w = {$w}> { [conv] c = Conv(image, w) [act] y = Relu(c) }"
show unscaled.onnx scaled.onnx --random 1

echo "== corners of Resize"
for mode in align_corners half_pixel; do
    model $mode "g (float[1,1,3,3] x) => (float[1,1,6,6] y) <float[4] scales = {1, 1, 2, 2}>
{ [act] a = Relu(x) [up] u = Resize<mode = \"linear\", coordinate_transformation_mode = \"$mode\">(a, , scales) [out] y = Tanh(u) }"
done
show align_corners.onnx half_pixel.onnx --random 1

echo "== epsilon of a layer norm, whole and in parts"
parts="small = {0.001}, float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}"
for epsilon in 1e-12 1e-5; do
    model whole$epsilon "g (float[2,8] x) => (float[2,8] y) <float $parts>
{ [quiet] a = Mul(x, small) [norm] n = LayerNormalization<epsilon = $epsilon>(a, s) [out] y = Tanh(n) }"
done
model parts "g (float[2,8] x) => (float[2,8] y) <float $parts, float two = {2}, float eps = {0.00001}, int64[1] last = {-1}>
{ [quiet] a = Mul(x, small) [mean] m = ReduceMean(a, last) [centre] d = Sub(a, m) [square] q = Pow(d, two) [var] v = ReduceMean(q, last)
  [eps] e = Add(v, eps) [dev] r = Sqrt(e) [divide] z = Div(d, r) [scale] n = Mul(z, s) [out] y = Tanh(n) }"
show whole1e-12.onnx whole1e-5.onnx --random 1
show parts.onnx whole1e-12.onnx --random 1
show whole1e-12.onnx parts.onnx --random 1

echo "== gates of an LSTM in another framework's order (input, forget, cell, output)"
for order in onnx torch; do
    # i o f c against i f c o: rows of 4 units each
    gate() { [ $order = onnx ] && echo n || echo "(n / $1 / 4 == 0 ? 0 : n / $1 / 4 == 3 ? 1 : n / $1 / 4 + 1) * 4 * $1 + n % (4 * $1)"; }
    model $order "g (float[5,1,3] x) => (float[5,1,1,4] y) <float[1,16,3] w = {$(numbers 48 "$(gate 3)")}, float[1,16,4] r = {$(numbers 64 "$(gate 4) + 100")}>
{ [in] a = Tanh(x) [lstm] h = LSTM<hidden_size = 4>(a, w, r) [out] y = Neg(h) }"
done
show torch.onnx onnx.onnx --random 1

echo "== tied weights not transposed"
table=$(numbers 36 n)
for head in tied straight; do
    at=$([ $head = tied ] && echo 'n % 6 * 6 + n / 6' || echo n)
    model $head "g (int64[3] ids) => (float[3,6] logits) <float[6,6] table = {$table}, float[6,6] head = {$(numbers 36 "$at")}, int64 rows = {6}>
{ [wrap] i = Mod(ids, rows) [embed] e = Gather(table, i) [body] b = Tanh(e) [head] logits = MatMul(b, head) }"
done
show straight.onnx tied.onnx --random 1

echo "== a bias lost"
w=$(numbers 64 n)
model bias "g (float[2,8] x) => (float[2,8] y) <float[8,8] w = {$w}, float[8] b = {$(numbers 8 n+50)}> { [act] a = Tanh(x) [fc] y = Gemm(a, w, b) }"
model nobias "g (float[2,8] x) => (float[2,8] y) <float[8,8] w = {$w}> { [act] a = Tanh(x) [fc] y = MatMul(a, w) }"
show nobias.onnx bias.onnx --random 1

echo "== rotary embedding of pairs against halves"
for pairs in 0 1; do
    model rope$pairs "g (float[1,2,4,6] x) => (float[1,2,4,6] y) <float[1,4,3] c = {$(numbers 12 n)}, float[1,4,3] s = {$(numbers 12 n+30)}>
{ [act] a = Tanh(x) [rope] r = RotaryEmbedding<interleaved = $pairs>(a, c, s) [out] y = Neg(r) }"
done
show rope1.onnx rope0.onnx --random 1
