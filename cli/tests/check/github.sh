cat > 'a,b:c.json' <<'X'
{"irVersion": "8", "opsetImport": [{"version": "13"}], "graph": {"name": "g",
 "node": [{"name": "n\n::error::owned\r%0A::debug", "opType": "Relux", "input": ["x"], "output": ["y"]}],
 "input": [{"name": "x", "type": {"tensorType": {"elemType": 1, "shape": {"dim": [{"dimValue": "1"}, {"dimValue": "1"}]}}}}],
 "output": [{"name": "y", "type": {"tensorType": {"elemType": 1, "shape": {}}}}]}}
X
onnxtool check -f github --lint 'a,b:c.json'
