# An attribute that says it is a graph and holds none: its operator's shape rule must not look into it.
value() { printf '{"name":"%s","type":{"tensorType":{"elemType":%s,"shape":{"dim":[%s]}}}}' "$1" "$2" "$3"; }
d='{"dimValue":"2"}'
four="$d,$d,$d,$d"
cat >loop.json <<M
{"irVersion":"10","opsetImport":[{"version":"17"}],"graph":{"name":"g","node":[{"opType":"Loop","input":["n","c","x"],"output":["y"],
"attribute":[{"name":"body","type":"GRAPH"}]}],"input":[$(value n 7 ''),$(value c 9 ''),$(value x 1 "$d")],"output":[$(value y 1 "$d")]}}
M
cat >flex.json <<M
{"irVersion":"10","opsetImport":[{"version":"24"},{"domain":"ai.onnx.preview","version":"1"}],"graph":{"name":"g","node":[{"opType":"FlexAttention",
"domain":"ai.onnx.preview","input":["q","k","v"],"output":["y"],"attribute":[{"name":"score_mod","type":"GRAPH"},{"name":"prob_mod","type":"GRAPH"}]}],
"input":[$(value q 1 "$four"),$(value k 1 "$four"),$(value v 1 "$four")],"output":[$(value y 1 "$four")]}}
M
for model in loop.json flex.json; do
    "$ONNXTOOL" check --full $model
    echo "exit $?"
    "$ONNXTOOL" shape-infer $model >/dev/null 2>&1
    echo "exit $?"
done
