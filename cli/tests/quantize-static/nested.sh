cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[batch,4] x, bool c) => (float[batch,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1}>
{
    ["call"] h = f.layer (x, a)
    ["if"] y = If (c) <
        then_branch = t () => (float[batch,4] p) { ["inside"] p = MatMul (h, b) },
        else_branch = e () => (float[batch,4] q) { ["other"] q = Identity (h) }
    >
}
<domain: "f", opset_import: ["" : 17]>
layer (u, w) => (v) { ["product"] k = MatMul (u, w) v = Relu (k) }
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a, bool[batch] d) => (float[batch,4] x, bool[batch] c) { x = Identity (a) c = Identity (d) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --shape d=60 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt --nodes '*' -o q.onnx --calibration all.npz
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -oE '(MatMulInteger|DynamicQuantizeLinear|QuantizeLinear|MatMul|f\.layer) ' | sort | uniq -c
onnxtool parity q.onnx m.onnxtxt --random 3 --shape x=5x4 --rtol 0.1 --atol 0.5 >out && echo near
