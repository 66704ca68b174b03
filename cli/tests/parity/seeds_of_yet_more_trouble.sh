# Troubles of every day, each planted in an export that shares no name with the right one but its inputs and outputs, each named by one command.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'; }
model() { printf '<ir_version: 10, opset_import: ["" : %s]>\n%s\n' "${opset-23}" "$2" >"$1.onnx"; }
# As in seeds_of_more_trouble.sh: numbers COUNT EXPRESSION.
numbers() { for ((n = 0; n < $1; n++)); do i=$(($2)); v=$(((i * 7919 + 104729) % 2003 - 1001)); printf '%s%d.%03d' "$([ $n -gt 0 ] && echo ,)$([ $v -lt 0 ] && echo -)" 0 ${v#-}; done; }
integers() { for ((n = 0; n < $1; n++)); do printf '%s%d' "$([ $n -gt 0 ] && echo ,)" $(($2)); done; }
repeat() { for ((n = 0; n < $1; n++)); do printf '%s%s' "$([ $n -gt 0 ] && echo ,)" "$2"; done; }
w="float[8,8] w = {$(numbers 64 n)}"

echo "== two layers in the wrong order"
for k in 0 1; do
    model order$k "g (float[2,8] x) => (float[2,8] y) <float[8,8] p$k = {$(numbers 64 "n + 500 * $k")}, float[8,8] q$k = {$(numbers 64 "n + 500 - 500 * $k")}>
{ [first$k] a$k = MatMul(x, p$k) [act$k] b$k = Tanh(a$k) [second$k] c$k = MatMul(b$k, q$k) [out$k] y = Neg(c$k) }"
done
show order1.onnx order0.onnx --random 1

echo "== asymmetric against half-pixel sampling"
for mode in asymmetric half_pixel; do
    model $mode "g (float[1,1,3,3] x) => (float[1,1,6,6] y) <float[4] scales$mode = {1, 1, 2, 2}>
{ [a$mode] a$mode = Relu(x) [up$mode] u$mode = Resize<mode = \"linear\", coordinate_transformation_mode = \"$mode\">(a$mode, , scales$mode) [t$mode] y = Tanh(u$mode) }"
done
show asymmetric.onnx half_pixel.onnx --random 1

echo "== epsilon beside the square root, not under it"
model under "g (float[2,8] x) => (float[2,8] y) <$w, float two = {2}, float eps = {0.01}, int64[1] last = {-1}>
{ [mean] m = ReduceMean(x, last) [centre] d = Sub(x, m) [square] q = Pow(d, two) [var] v = ReduceMean(q, last) [eps] e = Add(v, eps) [dev] r = Sqrt(e)
  [div] z = Div(d, r) [fc] y = MatMul(z, w) }"
model beside "g (float[2,8] x) => (float[2,8] y) <$w, float two = {2}, float eps = {0.01}, int64[1] last = {-1}>
{ [mean_] m_ = ReduceMean(x, last) [centre_] d_ = Sub(x, m_) [square_] q_ = Pow(d_, two) [var_] v_ = ReduceMean(q_, last) [dev_] r_ = Sqrt(v_)
  [eps_] e_ = Add(r_, eps) [div_] z_ = Div(d_, e_) [fc_] y = MatMul(z_, w) }"
show beside.onnx under.onnx --random 1

echo "== the scale of attention forgotten"
for k in 0 1; do
    [ $k = 0 ] && scale="[scale0] t0 = Mul(s0, by)" || scale="t1 = Identity(s1)"
    model scale$k "g (float[1,4,8] q, float[1,4,8] k, float[1,4,8] v) => (float[1,4,8] y) <float by = {0.353553385}>
{ [turn$k] kt$k = Transpose<perm = [0, 2, 1]>(k) [score$k] s$k = MatMul(q, kt$k) $scale [prob$k] p$k = Softmax<axis = -1>(t$k) [mix$k] y = MatMul(p$k, v) }"
done
show scale1.onnx scale0.onnx --random 1

echo "== a causal mask that is off by one"
for k in 0 1; do
    model mask$k "g (float[6,6] s) => (float[6,6] y) <float[6,6] mask$k = {$(integers 36 "n % 6 > n / 6 + $k ? -10000 : 0")}>
{ [h$k] h$k = Tanh(s) [mask$k] m$k = Add(h$k, mask$k) [prob$k] y = Softmax<axis = -1>(m$k) }"
done
show mask1.onnx mask0.onnx --random 1

echo "== Dropout left active"
for k in true false; do
    model drop$k "g (float[4,8] x) => (float[4,8] y) <$w, float ratio = {0.5}, bool train = {$([ $k = true ] && echo 1 || echo 0)}>
{ [a$k] a$k = MatMul(x, w) [drop$k] d$k = Dropout<seed = 1>(a$k, ratio, train) [fc$k] y = MatMul(d$k, w) }"
done
show droptrue.onnx dropfalse.onnx --random 1

echo "== gates of a GRU as PyTorch orders them (reset, update, new)"
for order in onnx torch; do
    gate() { [ $order = onnx ] && echo n || echo "(n / $1 / 4 == 2 ? 2 : 1 - n / $1 / 4) * 4 * $1 + n % (4 * $1)"; }
    model gru$order "g (float[5,1,3] x) => (float[5,1,1,4] y) <float[1,12,3] w$order = {$(numbers 36 "$(gate 3)")}, float[1,12,4] r$order = {$(numbers 48 "$(gate 4) + 100")}>
{ [in$order] a$order = Tanh(x) [gru$order] h$order = GRU<hidden_size = 4, linear_before_reset = 1>(a$order, w$order, r$order) [out$order] y = Neg(h$order) }"
done
show grutorch.onnx gruonnx.onnx --random 1

echo "== a zero point off by one"
for zero in 127 128; do
    model zero$zero "g (float[2,8] x) => (float[2,8] y) <$w, float scale = {0.02}, uint8 zq = {128}, uint8 z$zero = {$zero}>
{ [a$zero] a$zero = Tanh(x) [q$zero] q$zero = QuantizeLinear(a$zero, scale, zq) [dq$zero] d$zero = DequantizeLinear(q$zero, scale, z$zero) [fc$zero] y = MatMul(d$zero, w) }"
done
show zero127.onnx zero128.onnx --random 1

echo "== scales of channels along the wrong axis"
for axis in 0 1; do
    model channel$axis "g (float[2,8] x) => (float[2,8] y) <int8[8,8] codes = {$(integers 64 'n * 37 % 255 - 127')}, float[8] scales = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08}>
{ [a$axis] a$axis = Tanh(x) [dq$axis] w$axis = DequantizeLinear<axis = $axis>(codes, scales) [fc$axis] y = MatMul(a$axis, w$axis) }"
done
show channel0.onnx channel1.onnx --random 1

echo "== products of indices in 32 bits"
for to in INT32 INT64; do
    model by$to "g (int64[4] i) => (int64[4] y) <int64 k$to = {3000000000}, int64 m$to = {1000003}>
{ [p$to] p$to = Mul(i, k$to) $([ $to = INT32 ] && echo "[n] n = Cast<to = 6>(pINT32) [wide] cINT32 = Cast<to = 7>(n)" || echo "cINT64 = Identity(pINT64)") [mod$to] y = Mod(c$to, m$to) }"
done
printf '{"i": {"dtype": "int64", "shape": [4], "data": [1, 2, 30, 4]}}' >i.json
show byINT32.onnx byINT64.onnx -i i.json

echo "== padding of TensorFlow's SAME against PyTorch's"
model same "g (float[1,1,6,6] x) => (float[1,2,3,3] y) <float[2,1,3,3] k = {$(numbers 18 n)}> { [a] a = Tanh(x) [conv] c = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(a, k) [act] y = Relu(c) }"
model pads "g (float[1,1,6,6] x) => (float[1,2,3,3] y) <float[2,1,3,3] k = {$(numbers 18 n)}> { [a_] a_ = Tanh(x) [conv_] c_ = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a_, k) [act_] y = Relu(c_) }"
show pads.onnx same.onnx --random 1

echo "== statistics of a batch norm that were never gathered"
for k in 0 1; do
    [ $k = 0 ] && mean=$(numbers 4 n) var="0.5, 2, 3, 0.25" || mean="0, 0, 0, 0" var="1, 1, 1, 1"
    model stats$k "g (float[1,3,5,5] x) => (float[1,4,3,3] y) <float[4,3,3,3] k = {$(numbers 108 n)}, float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}, float[4] mean$k = {$mean}, float[4] var$k = {$var}>
{ [conv$k] c$k = Conv(x, k) [norm$k] n$k = BatchNormalization(c$k, s, b, mean$k, var$k) [act$k] y = Relu(n$k) }"
done
show stats1.onnx stats0.onnx --random 1

echo "== pictures subtracted in 8 bits"
for to in UINT8 FLOAT; do
    model in$to "g (uint8[2,6] x) => (float[2,6] y) <uint8 m = {100}, float mf = {100}>
{ $([ $to = UINT8 ] && echo "[subUINT8] s = Sub(x, m) [floatUINT8] fUINT8 = Cast<to = 1>(s)" || echo "[floatFLOAT] t = Cast<to = 1>(x) [subFLOAT] fFLOAT = Sub(t, mf)") [out$to] y = Neg(f$to) }"
done
printf '{"x": {"dtype": "uint8", "shape": [2, 6], "data": [[1, 200, 50, 100, 255, 0], [7, 8, 90, 101, 102, 33]]}}' >u.json
show inUINT8.onnx inFLOAT.onnx -i u.json

echo "== positions that begin at one"
for k in 0 1; do
    model from$k "g (int64[4] at) => (float[4,3] y) <float[6,3] table = {$(numbers 18 n)}, int64 offset$k = {$k}>
{ [shift$k] p$k = Add(at, offset$k) [embed$k] e$k = Gather(table, p$k) [out$k] y = Neg(e$k) }"
done
printf '{"at": {"dtype": "int64", "shape": [4], "data": [0, 1, 2, 3]}}' >at.json
show from1.onnx from0.onnx -i at.json

echo "== halves joined the other way round"
for k in "a, b" "b, a"; do
    n=${k%%,*}
    model join$n "g (float[2,4] x) => (float[2,8] y) <$w> { [tanh$n] a = Tanh(x) [neg$n] b = Exp(x) [cat$n] c = Concat<axis = 1>($k) [fc$n] y = MatMul(c, w) }"
done
show joinb.onnx joina.onnx --random 1

echo "== ReLU6 exported as ReLU"
model six "g (float[2,8] x) => (float[2,8] y) <$w, float big = {9}, float low = {0}, float six = {6}> { [big] a = Mul(x, big) [act] b = Clip(a, low, six) [fc] y = MatMul(b, w) }"
model relu "g (float[2,8] x) => (float[2,8] y) <$w, float big = {9}> { [big_] a_ = Mul(x, big) [act_] b_ = Relu(a_) [fc_] y = MatMul(b_, w) }"
show relu.onnx six.onnx --random 1
