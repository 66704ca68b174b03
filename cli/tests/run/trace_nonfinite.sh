# Where the first NaN and the first infinity arise, what would not fit float16, and that a good model has none of it.
cat >bad.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[3] x) => (float[3] y) <float big = {300000.0}>
{ [scale] s = Mul(x, big) [grow] e = Exp(s) [zero] z = Sub(e, e) [out] y = Tanh(z) }
END
cat >good.onnx <<'END'
<ir_version: 10, opset_import: ["" : 17]>
g (float[3] x) => (float[3] y) { [one] a = Tanh(x) [two] y = Mul(a, a) }
END
echo '[1, -2, 0.5]' >x.json
onnxtool run bad.onnx -i x.json -O0 --trace-nonfinite | sed 1d
echo
onnxtool run good.onnx -i x.json -O0 --trace-nonfinite | sed 1d
onnxtool run bad.onnx -i x.json -O0 --trace-nonfinite -f json | grep -o '"first_nan":{"name":"[a-z]*","node":"[a-z]*","op_type":"[A-Za-z]*"'
