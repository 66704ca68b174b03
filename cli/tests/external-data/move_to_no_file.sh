# What is moved to a device, a pipe or standard output would be gone.
cp "$TESTDATA/models/digits.onnx" m.onnx
mkfifo pipe
for to in /dev/null pipe - .; do
    onnxtool external-data move m.onnx $to 2>&1
    echo "exit $?"
done
touch ./-
onnxtool external-data move - out.onnx < m.onnx 2>&1
echo "exit $?"
ls
