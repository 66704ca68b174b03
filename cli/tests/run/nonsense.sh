cp "$TESTDATA/models/digits.onnx" .
for options in "--random -1" "--random 99999999999999999999" "--random 1 --shape input=-1x1x28x28" "--random 1 --profile p.xyz"; do
    # shellcheck disable=SC2086
    onnxtool run $options digits.onnx
done
true
