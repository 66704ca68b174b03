# onnxruntime takes domains that a model does not import at their newest version, if it imports any.
printf '<ir_version: 6, opset_import: ["" : 12]> g (float[N] x) => (float[N] y) { y = com.microsoft.Gelu(x) }' > one.txt
printf '<ir_version: 6> g (float[N] x) => (float[N] y) { y = Relu(x) }' > none.txt
onnxtool check --target onnxruntime=1.8 one.txt || echo "exit $?"
onnxtool check --target onnxruntime=1.8 none.txt || echo "exit $?"
onnxtool check --target onnxruntime=1.8 - < one.txt || echo "exit $?"
