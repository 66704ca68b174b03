# Troubles that change sizes, or bytes: where one side cannot go on the message still says what departed before.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>&1 | sed -n -e '/^onnxtool: .*departs from/d' -e '/^onnxtool/p' -e '/^first divergence/,/^$/p'; }
model() { printf '<ir_version: 10, opset_import: ["" : 17]>\n%s\n' "$2" >"$1.onnx"; }
# numbers COUNT: between -1 and 1.
numbers() { for ((n = 0; n < $1; n++)); do v=$(((n * 7919 + 104729) % 2003 - 1001)); printf '%s%s0.%03d' "$([ $n -gt 0 ] && echo ,)" "$([ $v -lt 0 ] && echo -)" ${v#-}; done; }

echo "== joined along another axis: the product behind it cannot be computed"
for axis in 1 2; do
    model join$axis "g (float[2,2,4] x) => (float[2,2,8] y) <float[8,8] w = {$(numbers 64)}>
{ [tanh] a = Tanh(x) [exp] b = Exp(x) [join] c = Concat<axis = $axis>(a, b) [fc] y = MatMul(c, w) }"
done
show join1.onnx join2.onnx --random 1
"$ONNXTOOL" parity join1.onnx join2.onnx --random 1 --bisect >/dev/null 2>&1
echo "exit $?"

echo "== sizes rounded up, in an export of other names"
for mode in 0 1; do
    model ceil$mode "g (float[1,1,8,8] x) => (float[1,8,1,1] y) <float[8,1,3,3] first$mode = {$(numbers 72)}, float[8,8,1,1] second$mode = {$(numbers 64)}>
{ [conv$mode] a$mode = Conv(x, first$mode) [pool$mode] b$mode = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = $mode>(a$mode) [next$mode] c$mode = Conv(b$mode, second$mode)
  [mean$mode] y = GlobalAveragePool(c$mode) }"
done
show ceil1.onnx ceil0.onnx --random 1

echo "== bytes in the order of another machine"
for table in "1, 20, 300, 4000" "16777216, 335544320, 738263040, -1609629696"; do
    model $([ "${table%%,*}" = 1 ] && echo little || echo big) "g (float[4] x) => (float[4] y) <int32[4] table = {$table}>
{ [read] t = Cast<to = 1>(table) [add] y = Add(x, t) }"
done
show big.onnx little.onnx --random 1

echo "== weights cut to bfloat16"
for w in "1.007, 2.015, 3.03, -0.503" "1.0, 2.0, 3.015625, -0.5"; do
    model $([ "${w%%,*}" = 1.0 ] && echo cut || echo whole) "g (float[2,4] x) => (float[2,4] y) <float[4] w = {$w}> { [tanh] a = Tanh(x) [scale] y = Mul(a, w) }"
done
show cut.onnx whole.onnx --random 1

echo "== a constant that can't be made keeps none of the others away, which are known by their contents"
rest='int64[2] bad = {3, 2}, float[4] k = {0, 1, 0, -1}'
model made "g (float[2,4] x) => (float[2,4] y) <float[4] c1 = {1, 2, 3, 4}, float[4] c2 = {5, 6, 7, 8}, float[4] c3 = {9, 8, 7, 6}, $rest>
{ [no] a4 = Reshape(k, bad) [n1] a1 = Neg(c1) [n2] a2 = Neg(c2) [n3] a3 = Neg(c3)
  [m1] b1 = Mul(x, a1) [t1] t1 = Tanh(b1) [m2] b2 = Mul(x, a2) [t2] t2 = Tanh(b2) [j] j = Sub(t1, t2) [m3] b3 = Mul(j, a3) [r] b4 = Tanh(b3) [end] y = Add(b4, a4) }"
model kept "g (float[2,4] x) => (float[2,4] y) <float[4] e1 = {-1, -2, -3, -4}, float[4] e2 = {-5, -6, -7, -8}, float[4] e3 = {-9, -8, 7, -6}, $rest>
{ [o2] d2 = Mul(x, e2) [s2] s2 = Tanh(d2) [o1] d1 = Mul(x, e1) [s1] s1 = Tanh(d1) [i] i = Sub(s1, s2) [o3] d3 = Mul(i, e3) [s] d4 = Tanh(d3) [no2] f = Reshape(k, bad) [end2] y = Add(d4, f) }"
show made.onnx kept.onnx --random 1
