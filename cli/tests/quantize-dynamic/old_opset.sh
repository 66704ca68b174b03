# Blocks with --contrib need no opset of their own, but sums that broadcast and casts by number do; and weights whose squares are beyond
# float32 have scales all the same.
for opset in 1 7; do
    broadcast=; [ $opset = 1 ] && broadcast='<broadcast = 1>'
    printf '<ir_version: 3, opset_import: ["" : %s]>\ng (float[1,16] x, float[16,4] w, float[4] b) => (float[1,4] y)\n<float[16,4] w = {%s}, float[4] b = {1, 2, 3, 4}>\n{ h = MatMul (x, w) k = Add %s (h, b) y = Relu (k) }\n' $opset "$(seq -s, 64)" "$broadcast" >m.onnxtxt
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx -q --weight-only int8 --contrib
    onnxtool check --full q.onnx
    onnxtool run q.onnx --random 1 -q >/dev/null && echo runs
done
printf '<ir_version: 8, opset_import: ["" : 21]>\ng (float[1,16] x) => (float[1,1] y)\n<float[16,1] w = {%s}>\n{ y = MatMul (x, w) }\n' "$(seq -s, 16 | sed 's/\([0-9]*\)/\1e30/g')" >huge.onnxtxt
for type in int8 int4 uint4; do
    onnxtool quantize-dynamic huge.onnxtxt -o q.onnx -q --weight-only $type --block-size 16
    onnxtool parity q.onnx huge.onnxtxt --random 2 --require 'sqnr>=15' >/dev/null && echo near
done
