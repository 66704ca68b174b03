# Weights are packed once for all sets of a folder, as for as many folders.
cp "$TESTDATA/models/digits.onnx" .
mkdir t
weights() { onnxtool run digits.onnx -f json "$@" | grep -o '"weights_bytes": [0-9]*'; }
for k in 0 1; do onnxtool run digits.onnx --random $k --save-test-data t/test_data_set_$k -q; done
[ "$(weights --test-data t)" = "$(weights --test-data t/test_data_set_0 --test-data t/test_data_set_1)" ] && echo once
[ "$(weights --test-data t)" = "$(weights --test-data t/test_data_set_0)" ] || echo for many
