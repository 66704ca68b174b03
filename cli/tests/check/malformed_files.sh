# What is no model is refused with exit 3, a reason and the place.
cd "$TESTDATA/malformed" || exit 1
for file in *.onnx; do
    "$ONNXTOOL" check "$file" 2>&1
    echo "exit $?"
done
