# What an attribute asks for is held against the operator's version: uint4 came with Cast 21, uint2 with 25.
for case in "19 uint4 21" "21 uint4 21" "24 uint2 25" "25 uint2 25" "13 bfloat16 16"; do
    set -- $case
    printf '<ir_version: 13, opset_import: ["" : %s]> g (float[2] x) => (%s[2] y) { y = Cast<to = %s>(x) }\n' $1 $2 $3 > m.onnxtxt
    onnxtool check --full m.onnxtxt 2> /dev/null
done
true
