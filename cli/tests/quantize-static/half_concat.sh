# Convolutions of float16 are quantized in float32, and so is a Concat between them: onnxruntime has no integers beside scales of float16.
cat >m.onnxtxt <<'MODEL'
<ir_version: 9, opset_import: ["" : 19]>
g (float16[1,1,4,4] x) => (float16[1,1,4,4] y)
<float[1,1,1,1] v = {2}, float[1,1,1,1] u = {-1}, float[1,2,1,1] w = {1, 0.5}>
{
    v16 = Cast <to = 10> (v)
    u16 = Cast <to = 10> (u)
    w16 = Cast <to = 10> (w)
    ["first"] a = Conv (x, v16)
    ["second"] b = Conv (x, u16)
    ["join"] c = Concat <axis = 1> (a, b)
    ["last"] y = Conv (c, w16)
}
MODEL
mkdir -p data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
for form in qdq qoperator; do
    onnxtool quantize-static m.onnxtxt -q --quant-format $form -o q.onnx --calibration data
    onnxtool check --full q.onnx
    onnxtool dump q.onnx -f text | grep -oE '(Concat|[a-z0-9_]+ = QuantizeLinear|Conv) .*' | sed 's/  *$//'
    onnxtool parity q.onnx m.onnxtxt --random 2 --rtol 0.1 --atol 0.1 >/dev/null && echo near
done
