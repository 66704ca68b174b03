# What onnxruntime adds exactly without VNNI too: int8 by int8, ConvInteger, one channel in and one out a group.
show() {
    printf '<ir_version: 8, opset_import: ["" : 17]>\ng (%s) => (%s y) <%s, float s = {0.01}, float t = {2}, uint8 u = {0}, int8 z = {0}> { %s }\n' "$2" "$3" "$4" "$5" >m.onnxtxt
    onnxtool run m.onnxtxt -i in.json -O2 -o exact.npz -q
    onnxtool run m.onnxtxt -i in.json -O2 --simulate avx2-saturating -o simulated.npz -q
    if cmp -s exact.npz simulated.npz; then echo "$1: the same"; else echo "$1: saturates"; fi
}
two='int8[1,2,1,1] w = {127, 127}'
echo '{"x": [[[[255]], [[255]]]]}' >in.json
show 'uint8 by int8' 'uint8[1,2,1,1] x' uint8 "$two" 'y = QLinearConv (x, s, u, w, s, z, t, u)'
show 'ConvInteger by uint8' 'float[1,2,1,1] x' float "uint8[1,2,1,1] w = {255, 255}" 'q, a, b = DynamicQuantizeLinear (x) i = ConvInteger (q, w, b) c = Cast <to = 1> (i) d = Mul (a, s) y = Mul (c, d)'
show 'ConvInteger by int8' 'float[1,2,1,1] x' float "$two" 'q, a, b = DynamicQuantizeLinear (x) i = ConvInteger (q, w, b) c = Cast <to = 1> (i) d = Mul (a, s) y = Mul (c, d)'
echo '{"x": [[[[127]], [[127]]]]}' >in.json
show 'int8 by int8' 'int8[1,2,1,1] x' int8 "$two" 'y = QLinearConv (x, s, z, w, s, z, t, z)'
echo '{"x": [[[[255, 255]]]]}' >in.json
show 'one channel' 'uint8[1,1,1,2] x' uint8 'int8[1,1,1,2] w = {127, 127}' 'y = QLinearConv (x, s, u, w, s, z, t, u)'
show 'one channel in, two out' 'uint8[1,1,1,2] x' uint8 'int8[2,1,1,2] w = {127, 127, 0, 0}' 'y = QLinearConv (x, s, u, w, s, z, t, u)'
