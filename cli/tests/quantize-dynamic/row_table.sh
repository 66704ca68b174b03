# Tables that rows are taken of have a scale a row, if rows are long: here each is ten times as large as the one before.
numbers() {
    awk 'BEGIN { for (i = 0; i < 4; i++) for (j = 1; j <= 40; j++) printf "%s%.4f", (i + j > 1 ? ", " : ""), 10 ^ i * (j - 20) / 20 }'
}
make() { # type of the table, its number
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (int64[N] i) => (%s[N,40] y, %s[N,40] z)\n<float[4,40] wide = {%s}>\n{\n    table = Cast <to = %s> (wide)\n    ["one"] y = Gather (table, i)\n    ["two"] z = Gather <axis = 0> (table, i)\n}\n' "$1" "$1" "$(numbers)" "$2" >m.onnxtxt
}
near() { # tolerance of the least row
    for row in 0 1 2 3; do
        printf '[%d]' $row >i.json
        onnxtool parity q.onnx m.onnxtxt -i i.json --rtol 0 --atol "$(awk -v r=$row -v t="$1" 'BEGIN { print t * 10 ^ r }')" >out && echo near
    done
}
for type in 'float 1' 'float16 10'; do
    make $type
    echo "--- $type"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx && onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE 'int8\[[0-9,]*\] [a-z_]*|float16\[[0-9,]*\] [a-z_]*scale[a-z_]* '
    near 0.006
done
echo "--- without rows: one scale"
printf '<ir_version: 8, opset_import: ["" : 17]>\ng (int64[N] i) => (float[N,2] y)\n<float[3,2] table = {1, 2, 3, 4, 5, 6}>\n{ ["one"] y = Gather (table, i) }\n' >m.onnxtxt
onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q && onnxtool dump q.onnx -f text | grep -oE 'Mul|DequantizeLinear '
