# A table whose rows are the columns of a product is stored once, however the model spells it.
numbers() { awk 'BEGIN { for (i = 0; i < 64; i++) for (j = 1; j <= 64; j++) printf "%s%.4f", (i + j > 1 ? ", " : ""), (i + 1) * sin(i * 64 + j) }'; }
turned() { awk 'BEGIN { for (j = 1; j <= 64; j++) for (i = 0; i < 64; i++) printf "%s%.4f", (i + j > 1 ? ", " : ""), (i + 1) * sin(i * 64 + j) }'; }
make() { # the product, what more there is
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (int64[N] i) => (float[N,64] y)\n<float[64,64] table = {%s}%s>\n{\n    ["lookup"] h = Gather (table, i)\n    k = Tanh (h)\n    %s\n}\n' "$(numbers)" "$2" "$1" >m.onnxtxt
}
echo '[3, 0, 1]' >i.json
mkdir data
for k in 1 2 3; do
    echo "[$k, 0]" >one.json
    make 'y = Relu (h)'
    onnxtool run m.onnxtxt -i one.json -q --outputs i -o data/$k.npz
done
for how in 'w = Transpose <perm = [1, 0]> (table) y = MatMul (k, w)' 'y = Gemm <transB = 1> (k, table)' 'y = MatMul (k, copy)'; do
    echo "--- $how"
    make "$how" "$(case $how in *copy*) printf ', float[64,64] copy = {%s}' "$(turned)" ;; esac)"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '[< ]int8\[[0-9,]*\] [a-z_]*'
    onnxtool parity q.onnx m.onnxtxt -i i.json --require 'sqnr>=35' >/dev/null && echo near
    onnxtool quantize-static m.onnxtxt -o q.onnx -q --per-channel --calibration data
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '[< ]int8\[[0-9,]*64[0-9,]*\] [a-z_]*'
    onnxtool parity q.onnx m.onnxtxt -i i.json --require 'sqnr>=30' >/dev/null && echo near
done
