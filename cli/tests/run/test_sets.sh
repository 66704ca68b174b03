# Models beside their test data, as those of ONNX lie.
make_one() { # FOLDER EXPRESSION
    mkdir -p "$1"
    echo "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N] x) => (float[N] y, float[N] z) { y = $2 z = Neg(x) }" > "$1/model.onnxtxt"
}
make_one all/good 'Abs(x)'
make_one all/wrong 'Abs(x)'
make_one all/none 'Abs(x)'
for seed in 0 1 2; do
    onnxtool run all/good/model.onnxtxt --random $seed --shape x=4 --save-test-data all/good/test_data_set_$seed -q
done
cp -r all/good/test_data_set_* all/wrong
make_one all/wrong 'Exp(x)'
mkdir all/unknown
echo '<ir_version: 8, opset_import: ["" : 17, "nobody" : 1]> g (float[2] x) => (float[2] y) { y = nobody.Knows(x) }' > all/unknown/model.onnxtxt
onnxtool run --test-sets all/good/model.onnxtxt
(cd all/good && onnxtool run --test-sets model.onnxtxt)
onnxtool run --test-sets all 2>&1 | sed 's/: .*(\([0-9]* of 4\).*/: \1/'
echo "exit ${PIPESTATUS[0]}"
onnxtool run --test-sets -q all > /dev/null 2>&1
echo "exit $?"
onnxtool run --test-sets -f json -j 2 all 2> /dev/null | grep -o '"model":"[^"]*"\|"folder":"[^"]*","agrees":[a-z]*'
# Several models without test data.
onnxtool run all/good all/wrong/model.onnxtxt -i x=all/good/test_data_set_0/input_0.pb --outputs z --log done.jsonl | sed 's/ \[.*//'
wc -l < done.jsonl
onnxtool run all -o out.npz --random 1
echo "exit $?"
onnxtool run all/good/model.onnxtxt --test-sets --outputs y
echo "exit $?"
