printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N,4] x) => (float[N,4] y) { a = Gelu(x) b = Gelu(a) y = Relu(b) }' > new.txt
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x, int64 k) => (float[N,4] y, float[N,4] z) { a = Relu(x) z = CumSum(a, k) y = Erf(a) }' > sum.txt
for form in github junit sarif; do
    onnxtool check --target onnxruntime=1.16 --target onnxruntime=1.16:nnapi --min-target -f $form new.txt sum.txt
done
onnxtool check --target onnxruntime=1.16 --disable target.refused --severity error -f github new.txt
