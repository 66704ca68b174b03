# An input that is given twice is an error of usage, whichever way: the last one would win in silence.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }' > m.txt
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }' > one.txt
echo '{"x": [1, 2], "z": [3, 4]}' > both.json
echo '[5, 6]' > x.json
onnxtool run m.txt -i x=x.json -i z=x.json -i x=x.json; echo "exit $?"
onnxtool run m.txt -i both.json -i x=x.json; echo "exit $?"
onnxtool run one.txt -i x.json -i x=x.json; echo "exit $?"
onnxtool parity one.txt one.txt -i x.json -i x.json; echo "exit $?"
onnxtool run one.txt --random 1 --shape x=2 --shape x=3; echo "exit $?"
onnxtool parity one.txt one.txt --random 1 --tol y=0,0 --tol y=1,1; echo "exit $?"
onnxtool shape-infer m.txt --input x=2 --input x=3; echo "exit $?"
onnxtool shape-infer one.txt --input 2 --input x=3; echo "exit $?"
onnxtool shape-infer one.txt --set N=2 --set N=3; echo "exit $?"
onnxtool shape-infer one.txt --free x=A --free x=B; echo "exit $?"
onnxtool dump one.txt --input x=2 --input x=3; echo "exit $?"
onnxtool optimize one.txt --freeze x=2 --freeze x=3; echo "exit $?"
onnxtool convert-opset one.txt --to 15 --to 14; echo "exit $?"
# A folder of test data gives what is not given otherwise.
onnxtool run one.txt -i x.json --save-test-data set -q && echo '[-1, 6]' > other.json
onnxtool run one.txt --test-data set -i other.json
echo "exit $?"
onnxtool parity one.txt one.txt --test-data set -i other.json
