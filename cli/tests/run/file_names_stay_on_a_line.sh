# A message is one line, whatever stands in the names of files that it is about.
m=$'li\nne.onnx'
printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[4] x) => (float[4] y) { y = Neg(x) }' >"$m"
all() { # COMMAND...: both outputs, where each begins
    echo "\$ $(printf '%q ' "$@")"
    "$ONNXTOOL" "$@" 2>&1 </dev/null
    echo "exit $?"
}
all run "$m"
all run "$m" -i $'in\nput.json'
all run $'mis\nsing.onnx'
all check "$m"
all convert-opset "$m" --to 99 -o o.onnx
all optimize "$m" -o $'no\tfolder/o.onnx'
all quantize-static "$m" -o o.onnx --calibration $'sam\rples'
all dump "$m" --extract x:z -o o.onnx
all parity "$m" --random 1 --engine none
all diff "$m" $'mis\nsing.onnx'
all shape-infer "$m" "$m"
