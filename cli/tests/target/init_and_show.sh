# The template is a target; what show prints is one too, and says the same.
onnxtool target init -o my.target
onnxtool check -q --target my.target "$TESTDATA/models/digits.onnx" 2>/dev/null
echo "exit $?"
onnxtool target show onnxruntime=1.16:cuda -o cuda.target
onnxtool target show ./cuda.target | diff - <(sed 's/^origin .*/&/' cuda.target) && echo same
onnxtool target show onnxruntime=1.4 | head -n 8
onnxtool target frobnicate
