# Every set of test data is run so often: the times of all are kept.
cp "$TESTDATA/models/digits.onnx" .
mkdir t
for k in 0 1 2; do onnxtool run digits.onnx --random $k --save-test-data t/test_data_set_$k -q; done
onnxtool run digits.onnx --test-data t --repeat 40 -f json | grep '"repeat"'
onnxtool run digits.onnx --test-data t/test_data_set_0 --test-data t --repeat 2 | grep -o '; 8 runs'
