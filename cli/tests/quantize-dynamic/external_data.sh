# A model whose weights are files of their own becomes one file: no weights that nobody reads any more come along.
printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[16,64] x) => (float[16,64] y) <float[64,64] w = {%s}, float[16,64] u = {%s}> { m = MatMul (x, w) y = Mul (m, u) }' \
    "$(seq -s, 4096)" "$(seq -s, 1024)" >whole.onnx
mkdir apart out
"$ONNXTOOL" external-data pack -q whole.onnx -o apart/m.onnx
for how in "" "--weight-only int8"; do
    # shellcheck disable=SC2086
    "$ONNXTOOL" quantize-dynamic $how whole.onnx -o whole.q.onnx -q
    # shellcheck disable=SC2086
    "$ONNXTOOL" quantize-dynamic $how apart/m.onnx -o out/q.onnx -q
    "$ONNXTOOL" diff whole.q.onnx out/q.onnx && ls out
done
