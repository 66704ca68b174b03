printf '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (float[2] y, bool[2] more) { y = Relu (x) zero = Constant <value_floats = [0.0, 0.0]> () more = Greater (x, zero) }\n' > m.onnxtxt
for set in 0 1; do
    onnxtool run m.onnxtxt --random $set --save-test-data "all test_data_set_$set" -q
    mkdir -p all && mv "all test_data_set_$set" all/test_data_set_$set
done
cp all/test_data_set_0/input_0.pb all/test_data_set_1/output_0.pb # the numbers of another set
onnxtool run m.onnxtxt --test-data all -f json -o y.npz > two.json; echo "exit $?"
sed -e 's/"timing": *{.*//' two.json | sed -n '/"test_data"/,/^  \]/p'
onnxtool run m.onnxtxt --test-data all/test_data_set_0 -v 2>&1 | grep agrees
onnxtool run m.onnxtxt --test-data all --outputs y -f json | grep -c test_data
rm all/test_data_set_0/output_*
onnxtool run m.onnxtxt --test-data all/test_data_set_0 -f json | grep -c test_data
