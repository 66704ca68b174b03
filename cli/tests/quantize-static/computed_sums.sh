# onnxruntime makes a Gemm of a product and the sum behind it, which runs in float where what is added is computed: a Sum means the same.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x, float[n,4] h) => (float[n,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 4, 3, 2, 1}, float[4] c = {1, 2, 3, 4}>
{
    ["in"] p = MatMul (x, a)
    ["bias"] q = Add (p, c)
    t = Tanh (q)
    ["again"] r = MatMul (h, b)
    ["sum"] s = Add (r, t)
    y = Tanh (s)
}
MODEL
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,4] a, float[batch,4] b) => (float[batch,4] x, float[batch,4] h) { x = Identity (a) h = Identity (b) }\n' >samples.onnxtxt
onnxtool run samples.onnxtxt --random 1 --shape a=60x4 --shape b=60x4 -o all.npz >/dev/null
onnxtool quantize-static m.onnxtxt -q -o q.onnx --accuracy plain --calibration all.npz
onnxtool dump q.onnx -f text | grep -E ' (Add|Sum) '
onnxtool quantize-dynamic m.onnxtxt -q -o w.onnx --weight-only int4
onnxtool dump w.onnx -f text | grep -E ' (Add|Sum) '
