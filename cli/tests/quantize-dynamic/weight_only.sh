cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,20] x) => (float[batch,2] y)
<float[2,20] gw = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                   -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17, -18, -19, -20},
 float[2] gb = {10, 20}, float[2,2] mw = {1, 0, 0.125, -1}, float[2] mb = {0.5, 0.25}>
{
    ["gemm"] h = Gemm <transB = 1> (x, gw, gb)
    ["relu"] r = Relu (h)
    ["product"] p = MatMul (r, mw)
    ["sum"] y = Add (p, mb)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --block-size 16 -v
onnxtool check q.onnx
onnxtool dump q.onnx -f text
onnxtool quantize-dynamic m.onnxtxt -o q2.onnx --weight-only int4 --block-size 16 -t 1 && cmp q.onnx q2.onnx
echo --- packed
onnxtool quantize-dynamic m.onnxtxt -o packed.onnx --weight-only int4 --block-size 16 --contrib
onnxtool dump packed.onnx -f text | grep -E 'MatMulNBits|opset'
onnxtool parity q.onnx packed.onnx --random 1 --shape x=3x20 --rtol 1e-5 --atol 1e-4 >agree && head -1 agree
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,20] a) => (float[n,20] x) { x = Identity (a) }\n' >id.onnxtxt
onnxtool run id.onnxtxt --random 2 --shape a=50x20 -o x.npz >/dev/null
for how in 'int8' 'uint4' 'uint4 --method hqq' 'uint4 --method k_quant' 'int4 --method gptq --calibration x.npz'; do
    echo "--- $how"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only $how
    onnxtool parity q.onnx m.onnxtxt --random 1 --shape x=50x20 --rtol 0.2 --atol 25 >agree && echo agrees
    onnxtool dump q.onnx -f text | grep -o 'u*int[48]\[[0-9,]*\]' | sort -u | tr '\n' ' '
    echo
done
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --block-size 20
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --method gptq
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --method awq
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 --method k_quant --calibration x.npz
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --method hqq
