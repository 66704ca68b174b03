# Slices of one product, and a Concat of it and what pools make of it, run on integers with one scale.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,4,4] x) => (float[1,1,4,4] y)
<float[4,1,1,1] w = {3, -4, 3, -4}, float[2,2,1,1] v = {0.5, 0.25, -1, 2}, float[1,6,1,1] u = {1, 0.5, 2, -1, 3, 1},
 int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}, int64[1] one = {1}>
{
    ["first"] c = Conv (x, w)
    s = Sigmoid (c)
    ["whole"] m = Mul (c, s)
    ["upper"] a = Slice (m, zero, two, one)
    ["lower"] b = Slice (m, two, four, one)
    ["mid"] d = Conv (b, v)
    ["sum"] e = Add (a, d)
    ["third"] f = Conv (e, v)
    t = Sigmoid (f)
    ["swish"] p = Mul (f, t)
    ["pool"] q = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (p)
    ["again"] r = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q)
    ["pyramid"] k = Concat <axis = 1> (p, q, r)
    ["last"] y = Conv (k, u)
}
MODEL
mkdir data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
onnxtool quantize-static m.onnxtxt -q --accuracy plain -o q.onnx --calibration data
onnxtool check --full -q q.onnx
onnxtool dump q.onnx -f text | grep -oE '(Mul|Slice|MaxPool|Concat|Sigmoid) .*\(.*\)$'
