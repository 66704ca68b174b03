# What exporters and converters do to people, each found and named by one command.
show() { echo "\$ onnxtool parity $*"; "$ONNXTOOL" parity "$@" --bisect 2>/dev/null | sed -n '/^first divergence/,/^$/p'; }

echo "== exported in training mode"
cat >train.onnx <<'END'
<ir_version: 10, opset_import: ["" : 15]>
g (float[4,2,3] x) => (float[4,2,3] y)
<float[2] scale = {1.5, 0.5}, float[2] bias = {0.1, -0.1}, float[2] mean = {0.2, -0.3}, float[2] var = {0.8, 1.2}>
{ [relu] r = Relu(x) [norm] n, m, v = BatchNormalization<training_mode = 1>(r, scale, bias, mean, var) [out] y = Tanh(n) }
END
cat >eval.onnx <<'END'
<ir_version: 10, opset_import: ["" : 15]>
g (float[4,2,3] x) => (float[4,2,3] y)
<float[2] scale = {1.5, 0.5}, float[2] bias = {0.1, -0.1}, float[2] mean = {0.2, -0.3}, float[2] var = {0.8, 1.2}>
{ [relu] r = Relu(x) [norm] n = BatchNormalization(r, scale, bias, mean, var) [out] y = Tanh(n) }
END
show train.onnx eval.onnx --random 1

echo "== wrong preprocessing"
for order in "123.7, 116.3, 103.5" "103.5, 116.3, 123.7"; do
    name=$([ -e rgb.onnx ] && echo bgr || echo rgb)
    cat >$name.onnx <<END
<ir_version: 10, opset_import: ["" : 17]>
g (float[1,3,4,4] image) => (float[1,3,4,4] y) <float[1,3,1,1] mean = {$order}, float std = {58.0}>
{ [centre] c = Sub(image, mean) [scale] s = Div(c, std) [act] y = Relu(s) }
END
done
show bgr.onnx rgb.onnx --random 1

echo "== float16 overflows in attention"
cat >half.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[1,4,8] x) => (float[1,4,4] y)
{
  big = Constant<value_float = 300.0>()
  [blow_up] h = Mul(x, big)
  [to_half] q = Cast<to = 10>(h)
  [turn] k = Transpose<perm = [0, 2, 1]>(q)
  [scores] scores = MatMul(q, k)
  [weights] w = Softmax<axis = -1>(scores)
  [back] y = Cast<to = 1>(w)
}
END
sed -e 's/\[to_half\] q = Cast<to = 10>(h)/[to_half] q = Identity(h)/' -e 's/\[back\] y = Cast<to = 1>(w)/[back] y = Identity(w)/' half.onnx >single.onnx
show half.onnx single.onnx --random 3

echo "== an int64 index narrowed"
cat >narrow.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[1] x) => (float[5] y)
<int64[5] ids = {1, 20, 300, 4000, 50000}, int64 prime = {2654435761}, int64 rows = {7}, float[7] table = {0, 1, 2, 3, 4, 5, 6}>
{
  [hash] h = Mul(ids, prime)
  [narrow] i = Cast<to = 6>(h)
  [widen] wide = Cast<to = 7>(i)
  [bucket] b = Mod(wide, rows)
  [pick] p = Gather(table, b)
  [out] y = Add(p, x)
}
END
sed -e 's/\[narrow\] i = Cast<to = 6>(h)/[narrow] i = Identity(h)/' -e 's/\[widen\] wide = Cast<to = 7>(i)/[widen] wide = Identity(i)/' narrow.onnx >wide.onnx
show narrow.onnx wide.onnx --random 1

echo "== Softmax of opset 11 against 13"
for opset in 11 13; do
    cat >softmax$opset.onnx <<END
<ir_version: 8, opset_import: ["" : $opset]>
g (float[2,3,4] x) => (float[2,3,4] y) { [act] a = Relu(x) [soft] s = Softmax<axis = 1>(a) [out] y = Neg(s) }
END
done
show softmax11.onnx softmax13.onnx --random 1

echo "== weights in NHWC order, not transposed"
weights() { for m in 0 1; do for c in 0 1 2; do for h in 0 1 2; do for w in 0 1 2; do eval "echo $1"; done; done; done; done | paste -sd,; }
cat >nchw.onnx <<END
<ir_version: 10, opset_import: ["" : 17]>
g (float[1,3,5,5] x) => (float[1,2,3,3] y)
<float[2,3,3,3] w = {$(weights '$((m * 27 + c * 9 + h * 3 + w))')}>
{ [act] a = Relu(x) [conv] c = Conv(a, w) [out] y = Tanh(c) }
END
cat >nhwc.onnx <<END
<ir_version: 10, opset_import: ["" : 17]>
g (float[1,3,5,5] x) => (float[1,2,3,3] y)
<float[2,3,3,3] w = {$(weights '$((m * 27 + w * 9 + c * 3 + h))')}>
{ [act] a = Relu(x) [conv] c = Conv(a, w) [out] y = Tanh(c) }
END
show nhwc.onnx nchw.onnx --random 1
