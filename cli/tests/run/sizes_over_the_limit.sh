# A size that a value asks for is told with the node, the output and what it would be, before anything is allocated.
size() { # OPERATOR TYPES CALL INPUTS...
    printf '<ir_version: 10, opset_import: ["": 22]>\ng (%s) => (y) { y = %s }\n' "$1" "$2" > m.onnxtxt
    shift 2
    "$ONNXTOOL" run m.onnxtxt --max-memory 200M "$@"
    echo "$?"
}
echo '[1.0]' > x.json
echo '[100000, 1000000]' > large.json
echo '[9000000000000000000, 9000000000000000000]' > absurd.json
echo '100000000000' > limit.json
echo 0 > zero.json
echo 1 > one.json
for s in large absurd; do
    size 'float[1] x, int64[2] s' 'Expand(x, s)' -i x=x.json -i s=$s.json
    size 'int64[2] s' 'ConstantOfShape(s)' -i s=$s.json
done
size 'int64 a, int64 b, int64 c' 'Range(a, b, c)' -i a=zero.json -i b=limit.json -i c=one.json
