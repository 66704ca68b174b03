# What is wrong inside a model is said under its name once, by whichever part of the program found it.
printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[n,64] x) => (float[n,64] y) <float[64,64] w = {%s}> { y = MatMul(x, w) }' \
    "$(seq -s, 4096)" >whole.onnx
"$ONNXTOOL" external-data pack -q whole.onnx -o m.onnx && rm m.onnx.data
printf '[[%s]]' "$(seq -s, 64)" >x.json
"$ONNXTOOL" run whole.onnx -q -i x.json -o x.npz
for how in "quantize-dynamic" "quantize-dynamic --weight-only int8" "quantize-static --calibration x.npz"; do
    # shellcheck disable=SC2086
    "$ONNXTOOL" $how m.onnx -o o.onnx 2>&1
    echo "exit $?"
done
"$ONNXTOOL" run m.onnx -i x.json 2>&1
echo "exit $?"
