# Bodies of If, Loop and Scan are calibrated: over all iterations, and in the branches that samples take.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,4] x, bool c) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1}, int64 n = {3}, bool t = {1}>
{
    ["first"] h = MatMul (x, a)
    ["if"] i = If (c) <
        then_branch = t () => (float[batch,4] p) { ["inside"] p = MatMul (h, b) },
        else_branch = e () => (float[batch,4] q) { ["other"] q = Identity (h) }
    >
    ["loop"] l = Loop (n, t, i) <
        body = lb (int64 k, bool go, float[batch,4] s) => (bool go2, float[batch,4] s2) { go2 = Identity (go) ["step"] m = MatMul (s, a) s2 = Tanh (m) }
    >
    ["scan"] y = Scan <num_scan_inputs = 1, body = sb (float[4] r) => (float[4] w) { ax = Constant <value = int64[1] {0}> () ["row"] u = Unsqueeze (r, ax) ["in_scan"] v = MatMul (u, b) w = Squeeze (v, ax) }> (l)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a, bool[batch] d) => (float[batch,4] x, bool[batch] c) { x = Identity (a) c = Identity (d) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --shape d=60 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt --nodes '*' -o q.onnx --calibration all.npz -v 2>/dev/null
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -oE '(DynamicQuantizeLinear|[A-Za-z0-9_]* = QuantizeLinear|= DequantizeLinear|MatMul) ' | sort | uniq -c
onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x4 --rtol 0.1 --atol 0.5 >out && echo near
onnxtool quantize-static m.onnxtxt --nodes '*' --calibrate-only --table t.json --calibration all.npz
echo "--- what the table counts"
tr '{' '\n' <t.json | grep -oE '"name":"[^"]*","samples":[0-9]+'
onnxtool quantize-static m.onnxtxt --nodes '*' -o q2.onnx --table t.json && cmp q.onnx q2.onnx && echo same
onnxtool quantize-static m.onnxtxt --nodes '*' -o q2.onnx --calibration all.npz -t 1 && cmp q.onnx q2.onnx && echo same
echo "--- operators on integers"
onnxtool quantize-static m.onnxtxt --nodes '*' -o o.onnx --calibration all.npz --quant-format qoperator
onnxtool dump o.onnx -f text | grep -oE '= (QLinearMatMul|QuantizeLinear|MatMul) ' | sort | uniq -c
echo "--- a branch that no sample took"
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a) => (float[batch,4] x, bool[batch] c) { x = Identity (a) nan = IsNaN (a) f = Cast <to = 1> (nan) s = ReduceMax <axes = [1], keepdims = 0> (f) z = Constant <value = float {0}> () c = Greater (s, z) }\n' >never.onnxtxt
onnxtool run never.onnxtxt --random 1 --shape a=60x4 -o never.npz >/dev/null
onnxtool quantize-static m.onnxtxt --nodes '*' -o n.onnx --calibration never.npz
onnxtool dump n.onnx -f text | grep -oE '= (DynamicQuantizeLinear|QuantizeLinear|MatMulInteger|MatMul) ' | sort | uniq -c
echo "--- a function called in a body"
cat >f.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[batch,4] x) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, int64 n = {3}, bool t = {1}>
{
    ["loop"] y = Loop (n, t, x) <
        body = lb (int64 k, bool go, float[batch,4] s) => (bool go2, float[batch,4] s2) { go2 = Identity (go) s2 = f.layer (s, a) }
    >
}
<domain: "f", opset_import: ["" : 17]>
layer (u, w) => (v) { ["product"] k = MatMul (u, w) v = Tanh (k) }
MODEL
onnxtool quantize-static f.onnxtxt --nodes '*' -o f.onnx --calibration all.npz -v 2>/dev/null
onnxtool dump f.onnx -f text | grep -oE '= (DynamicQuantizeLinear|QuantizeLinear|MatMulInteger|MatMul) ' | sort | uniq -c
