# What the branches of an If quantize of the weights around them is stored once.
{
    printf '<ir_version: 10, opset_import: ["" : 21]>\ng (float[2,64] x, int64[2] i, bool c) => (float[2,64] y)\n<float[64,64] w = {%s}, float[64,64] table = {%s}>\n{\n' \
        "$(awk 'BEGIN { for (k = 1; k <= 4096; k++) printf "%s%.3f", (k > 1 ? ", " : ""), sin(k) }')" "$(awk 'BEGIN { for (k = 1; k <= 4096; k++) printf "%s%.3f", (k > 1 ? ", " : ""), cos(k) }')"
    cat <<'MODEL'
    ["either"] y = If (c) <
        then_branch = a () => (float[2,64] y1) { ["p"] h = MatMul (x, w) ["q"] e = Gather (table, i) y1 = Add (h, e) },
        else_branch = b () => (float[2,64] y2) { ["r"] k = MatMul (x, w) ["s"] f = Gather (table, i) y2 = Sub (k, f) }
    >
}
MODEL
} >m.onnxtxt
mkdir data
for k in 1 2 3; do
    echo "[$k, 9]" >i.json
    onnxtool run m.onnxtxt --random $k -i i=i.json -q --save-test-data data/test_data_set_$k >/dev/null
done
for how in '' '--weight-only int4 --contrib' '--weight-only int8'; do
    echo "--- $how"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q $how && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'u?int[48]\[[0-9,]*\] [a-z_]*'
    onnxtool parity q.onnx m.onnxtxt --test-data data/test_data_set_1 --require 'sqnr>=20' >/dev/null && echo near
done
echo "--- static"
onnxtool quantize-static m.onnxtxt -o q.onnx -q --calibration data && onnxtool check --full q.onnx
onnxtool dump q.onnx -f text | grep -oE 'u?int[48]\[[0-9,]*\] [a-z_]*'
