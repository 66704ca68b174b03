# What exporters make of one network: counts in names that a change shifts, batch norms folded on one side, float16 throughout.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'; }
model() { printf '<ir_version: 10, opset_import: ["" : 17]>\n%s\n' "$2" >"$1.onnx"; }
# As in seeds_of_more_trouble.sh: numbers COUNT EXPRESSION.
numbers() { for ((n = 0; n < $1; n++)); do i=$(($2)); v=$(((i * 7919 + 104729) % 2003 - 1001)); printf '%s%d.%03d' "$([ $n -gt 0 ] && echo ,)$([ $v -lt 0 ] && echo -)" 0 ${v#-}; done; }

echo "== counts that one more node shifts: what departs is the third layer"
weights() { for k in 1 2 3; do printf '%sfloat[8,8] "l%d.weight" = {%s}' "$([ $k -gt 1 ] && echo ', ')" $k "$(numbers 64 "n + 100 * $k + ($k == 3 ? $1 : 0)")"; done; }
model long "g (float[2,8] x) => (float[2,8] y) <$(weights 7)>
{ val_0 = Neg(x) val_1 = Neg(val_0) val_2 = MatMul(val_1, \"l1.weight\") val_3 = Tanh(val_2) val_4 = MatMul(val_3, \"l2.weight\") val_5 = Tanh(val_4) val_6 = Add(val_5, val_3)
  val_7 = MatMul(val_6, \"l3.weight\") val_8 = Tanh(val_7) y = Add(val_8, val_6) }"
model short "g (float[2,8] x) => (float[2,8] y) <$(weights 0)>
{ val_0 = MatMul(x, \"l1.weight\") val_1 = Tanh(val_0) val_2 = MatMul(val_1, \"l2.weight\") val_3 = Tanh(val_2) val_4 = Add(val_3, val_1)
  val_5 = MatMul(val_4, \"l3.weight\") val_6 = Tanh(val_5) y = Add(val_6, val_4) }"
show long.onnx short.onnx --random 1

echo "== sums whose inputs have other counts on the other side are others: nothing departs"
model sums1 "g (float[2,8] x) => (float[2,8] y) <$(weights 0)>
{ get_1 = MatMul(x, \"l1.weight\") get_2 = MatMul(x, \"l2.weight\") add_1 = Add(get_1, get_2) relu_1 = Relu(add_1) get_3 = MatMul(relu_1, \"l3.weight\") get_4 = MatMul(relu_1, \"l1.weight\")
  add_2 = Add(get_3, get_4) y = Relu(add_2) }"
model sums2 "g (float[2,8] x) => (float[2,8] y) <$(weights 0)>
{ get_1 = MatMul(x, \"l1.weight\") get_2 = MatMul(x, \"l2.weight\") add_2 = Add(get_1, get_2) relu_2 = Relu(add_2) get_5 = MatMul(relu_2, \"l3.weight\") get_6 = MatMul(relu_2, \"l1.weight\")
  add_3 = Add(get_5, get_6) y = Relu(add_3) }"
"$ONNXTOOL" parity sums1.onnx sums2.onnx --random 1 --bisect

echo "== a cast whose name the other side has for another one"
model narrow 'g (int64[4] ids) => (float[4] y) <int64 prime = {2654435761}, int32 rows = {7}, float[7] table = {0, 1, 2, 3, 4, 5, 6}>
{ ["/Mul"] "/Mul_output_0" = Mul(ids, prime) ["/Cast"] "/Cast_output_0" = Cast<to = 6>("/Mul_output_0") ["/Mod"] "/Mod_output_0" = Mod("/Cast_output_0", rows)
  ["/Cast_1"] "/Cast_1_output_0" = Cast<to = 7>("/Mod_output_0") ["/Gather"] y = Gather(table, "/Cast_1_output_0") }'
model wide 'g (int64[4] ids) => (float[4] y) <int64 prime = {2654435761}, int64 rows = {7}, float[7] table = {0, 1, 2, 3, 4, 5, 6}>
{ ["/Mul"] "/Mul_output_0" = Mul(ids, prime) ["/Mod"] "/Mod_output_0" = Mod("/Mul_output_0", rows)
  ["/Cast"] "/Cast_output_0" = Cast<to = 7>("/Mod_output_0") ["/Gather"] y = Gather(table, "/Cast_output_0") }'
echo '[1, 20, 300, 50000]' >ids.json
show narrow.onnx wide.onnx -i ids=ids.json

echo "== batch norms folded on one side, whose convolutions kept their names: the second was left in training"
factors="float[2] s = {1, 2}, float[2] o = {0.5, -0.5}, float[2] m = {0.25, -0.25}, float[2] v = {0.75, 0.75}"
for mode in 0 1; do
    [ $mode = 1 ] && moving=", rm, rv" || moving=""
    model norms$mode "g (float[4,2,3,3] x) => (float[4,2,3,3] y) <float[2,2,1,1] w1 = {1, 2, 3, 4}, float[2,2,1,1] w2 = {2, 1, -1, 1}, $factors>
{ [\"/c1/Conv\"] c1_out = Conv(x, w1) [\"/b1/BatchNormalization\"] b1_out = BatchNormalization<epsilon = 0.25>(c1_out, s, o, m, v) [\"/Relu\"] r_out = Relu(b1_out)
  [\"/c2/Conv\"] c2_out = Conv(r_out, w2) [\"/b2/BatchNormalization\"] b2_out$moving = BatchNormalization<epsilon = 0.25, training_mode = $mode>(c2_out, s, o, m, v) [\"/Tanh\"] y = Tanh(b2_out) }"
done
model folded "g (float[4,2,3,3] x) => (float[4,2,3,3] y) <float[2,2,1,1] w1 = {1, 2, 6, 8}, float[2] f1 = {0.25, 0}, float[2,2,1,1] w2 = {2, 1, -2, 2}, float[2] f2 = {0.25, 0}>
{ [\"/c1/Conv\"] c1_out = Conv(x, w1, f1) [\"/Relu\"] r_out = Relu(c1_out) [\"/c2/Conv\"] c2_out = Conv(r_out, w2, f2) [\"/Tanh\"] y = Tanh(c2_out) }"
show norms1.onnx folded.onnx --random 1
show folded.onnx norms1.onnx --random 1
"$ONNXTOOL" parity norms0.onnx folded.onnx --random 1 --bisect >/dev/null && echo agree
"$ONNXTOOL" parity folded.onnx norms0.onnx --random 1 --bisect >/dev/null && echo agree

echo "== float16 throughout: what it rounds is passed by, what overflows is named"
for half in 0 1; do
    [ $half = 1 ] && type=10 || type=1
    model half$half "g (float[2,8] x) => (float[2,8] y) <float[8,8] w = {$(numbers 64 n)}, float big = {3000}>
{ [in] h = Cast<to = $type>(x) [weights] v = Cast<to = $type>(w) [factor] k = Cast<to = $type>(big) [fc] a = MatMul(h, v) [tanh] b = Tanh(a) [blow] c = Mul(b, k) [score] d = Mul(c, c)
  [prob] e = Softmax<axis = -1>(d) [mix] m = MatMul(e, v) [out] y = Cast<to = 1>(m) }"
done
model other "g (float[2,8] x) => (float[2,8] y) <float[8,8] w = {$(numbers 64 n)}, float big = {3000}>
{ [first] p = MatMul(x, w) [tanh] q = Tanh(p) [blow1] r1 = Mul(q, big) [turn] t = Transpose(r1) [blow2] r2 = Transpose(t) [square] s = Pow(r1, two) [soft] u = Softmax<axis = -1>(s)
  [end] y = MatMul(u, w) }"
sed -i 's/float big = {3000}>/float big = {3000}, float two = {2}>/' other.onnx
show half1.onnx half0.onnx --random 1
show half1.onnx other.onnx --random 1

echo "== channels turned round before anything else"
model turned 'g (float[1,3,2,2] x) => (float[1,3,2,2] y) <float[1,3,1,1] mean = {0.4, 0.5, 0.6}, int64[1] from = {-1}, int64[1] to = {-100}, int64[1] axis = {1}, int64[1] step = {-1}>
{ [flip] f = Slice(x, from, to, axis, step) [centre] c = Sub(f, mean) y = Relu(c) }'
model gathered 'g (float[1,3,2,2] x) => (float[1,3,2,2] y) <float[1,3,1,1] mean = {0.4, 0.5, 0.6}, int64[3] order = {2, 1, 0}>
{ [pick] f = Gather<axis = 1>(x, order) [centre] c = Sub(f, mean) y = Relu(c) }'
model straight 'g (float[1,3,2,2] x) => (float[1,3,2,2] y) <float[1,3,1,1] mean = {0.4, 0.5, 0.6}> { [centre] c = Sub(x, mean) y = Relu(c) }'
show turned.onnx straight.onnx --random 1
show straight.onnx gathered.onnx --random 1
