# Nothing to compare with is no agreement; where the folder only feeds a run that is for something else it is a warning.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }' > m.txt
echo '[5, -6]' > x.json
onnxtool run m.txt -i x.json --save-test-data set -q && onnxtool run m.txt --test-data set -q; echo "exit $?"
rm set/output_0.pb
onnxtool run m.txt --test-data set -q; echo "exit $?"
onnxtool run m.txt --test-data set -o y.npz -q; echo "exit $?"
onnxtool run m.txt --test-data set --top 1; echo "exit $?"
# With --outputs the folder feeds and no more: output_0.pb need not be the first of those.
onnxtool run m.txt -i x.json --save-test-data set -q && onnxtool run m.txt --test-data set --outputs x; echo "exit $?"
