head -c 300000 /dev/zero > w.bin
cat > m.json <<'X'
{"irVersion": "8", "opsetImport": [{"version": "13"}], "graph": {"name": "g",
 "node": [{"opType": "Concat", "input": ["a", "b", "c", "d"], "output": ["y"], "attribute": [{"name": "axis", "type": "INT", "i": "0"}]}],
 "initializer": [
  {"name": "a", "dims": ["16384"], "dataType": 1, "dataLocation": "EXTERNAL", "externalData": [{"key": "location", "value": "w.bin"}, {"key": "offset", "value": "0"}, {"key": "length", "value": "65536"}]},
  {"name": "b", "dims": ["16384"], "dataType": 1, "dataLocation": "EXTERNAL", "externalData": [{"key": "location", "value": "w.bin"}, {"key": "offset", "value": "65000"}, {"key": "length", "value": "65536"}]},
  {"name": "c", "dims": ["16384"], "dataType": 1, "dataLocation": "EXTERNAL", "externalData": [{"key": "location", "value": "w.bin"}, {"key": "offset", "value": "131072"}]},
  {"name": "d", "dims": ["16384"], "dataType": 1, "dataLocation": "EXTERNAL", "externalData": [{"key": "location", "value": "w.bin"}, {"key": "offset", "value": "131072"}, {"key": "length", "value": "65536"}]}],
 "output": [{"name": "y", "type": {"tensorType": {"elemType": 1, "shape": {"dim": [{"dimValue": "65536"}]}}}}]}}
X
onnxtool check --lint m.json
