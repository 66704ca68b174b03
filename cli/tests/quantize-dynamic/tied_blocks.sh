# Blocks of a table's rows are those of the columns of a product by the same weight: 8 bits are stored once. Of 4 bits a table has none.
make() { # the product
    printf '<ir_version: 10, opset_import: ["" : 21]>\ng (int64[N] i) => (float[N,64] y)\n<float[64,64] table = {%s}>\n{\n    ["lookup"] h = Gather (table, i)\n    k = Tanh (h)\n    %s\n}\n' \
        "$(awk 'BEGIN { for (i = 0; i < 4096; i++) printf "%s%.4f", (i ? ", " : ""), sin(i * i) }')" "$1" >m.onnxtxt
}
echo '[3, 0, 1]' >i.json
for bits in int8 int4; do
    for how in 'w = Transpose <perm = [1, 0]> (table) y = MatMul (k, w)' 'y = Gemm <transB = 1> (k, table)'; do
        echo "--- $bits: $how"
        make "$how"
        onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q --weight-only $bits
        onnxtool check --full q.onnx
        onnxtool dump q.onnx -f text | grep -oE '[< ](int[48]|float|float16)\[[0-9]*,[0-9]*\] [a-z_0-9]+ '
        onnxtool parity q.onnx m.onnxtxt -i i.json --require 'sqnr>=20' >/dev/null && echo near
        onnxtool parity q.onnx -O0 -O2 -i i.json >/dev/null && echo equal
    done
done
