cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {1, 2}> { ["m"] a = MatMul (x, w) ["a"] s = Add (a, b) ["r"] y = Relu (s) }
MODEL
cat >cache.json <<'CACHE'
{"CLS": "TensorsData", "data": {"x": {"lowest": {"data": -1.0, "dtype": "float32", "CLS": "numpy.array"}, "highest": {"data": [3.0], "dtype": "float32", "CLS": "numpy.array"}, "CLS": "TensorData"},
 "a": {"lowest": -20, "highest": 40.5, "CLS": "TensorData"}, "s": {"lowest": -19, "highest": 42.5, "CLS": "TensorData"}, "y": {"lowest": 0, "highest": 42.5, "CLS": "TensorData"}},
 "calibration_method": {"CLS": "CalibrationMethod", "value": "CalibrationMethod.MinMax"}, "smooth_quant": false}
CACHE
onnxtool quantize-static m.onnxtxt -o q.onnx --table cache.json --compat ort
onnxtool dump q.onnx -f text
echo '{"data": {"x": {"lowest": "NaN"}}}' >bad.json
onnxtool quantize-static m.onnxtxt -o q.onnx --table bad.json --compat ort
