# Options that name no file, or more than there may be.
cp "$TESTDATA/models/digits.onnx" m.onnx
printf '{"input":[]}' > samples.json
for table in '' , 'a.json,b.json'; do
    onnxtool quantize-static m.onnx --calibrate-only --calibration samples.json --table "$table" 2>&1
    echo "exit $?"
done
onnxtool quantize-static m.onnx -o out.onnx --table , 2>&1
echo "exit $?"
onnxtool merge m.onnx m.onnx --apart --prefix1 a/ --prefix2 b/ --outputs , -o out.onnx 2>&1
echo "exit $?"
onnxtool optimize m.onnx --passes , -o out.onnx
ls
