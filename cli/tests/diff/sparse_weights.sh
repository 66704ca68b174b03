# Sparse initializers are told apart by name, shape and elements. w is float [2, 3], with 1 and 2 at 1 and 4.
onnxtool dump -f json - >a.json <<'END'
<ir_version: 8, opset_import: ["" : 13]> g (float[N,2] x) => (float[N,3] y) { y = MatMul(x, w) }
END
sparse='"sparseInitializer": [{"values": {"dims": ["2"], "dataType": 1, "name": "w", "floatData": [1, 2]}, "indices": {"dims": ["2"], "dataType": 7, "name": "at", "int64Data": ["1", "4"]}, "dims": ["2", "3"]}],'
sed -i "0,/\"name\": \"g\",/s//\"name\": \"g\", $sparse/" a.json
onnxtool run a.json --random 1 -q >run.txt && echo it runs
onnxtool diff a.json a.json && echo equal
sed 's/"w"/"v"/' a.json >b.json
onnxtool diff --ignore names a.json b.json && echo equal without names
onnxtool diff a.json b.json
sed 's/\["1", "4"\]/["1", "5"]/' a.json >c.json
onnxtool diff a.json c.json
sed 's/"dims": \["2", "3"\]/"dims": ["2", "4"]/' a.json >d.json
onnxtool diff a.json d.json
