# A skip connection that pads channels of integers pads integers, also that of opset 10, so that the sum behind runs on them; what is padded
# with anything but 0 stays in float.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,4,4] x) => (float[1,1,2,2] y)
<float[2,1,1,1] w = {3, -4}, float[3,2,2,2] v = {0.5, 0.25, -1, 2, 1, 1, -3, 1, 2, 1, -1, 1, 0.5, 2, -2, 1, 1, -1, 1, 2, -1, 1, 0.25, 1},
 float[1,3,1,1] u = {1, 0.5, 2}, int64[8] pads = {0, 0, 0, 0, 0, 1, 0, 0}, float zero = {0}>
{
    ["first"] a = Conv (x, w)
    b = Relu (a)
    ["main"] c = Conv <strides = [2, 2]> (b, v)
    p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
    ["pad"] d = Pad (p, pads, zero)
    ["sum"] e = Add (d, c)
    f = Relu (e)
    ["last"] y = Conv (f, u)
}
MODEL
mkdir data
for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
sed 's/zero = {0}/zero = {1}/' m.onnxtxt >one.onnxtxt
sed -e 's/"" : 17/"" : 10/' -e 's/, int64\[8\] pads.*>/>/' -e 's/Pad (p, pads, zero)/Pad <pads = [0, 0, 0, 0, 0, 1, 0, 0]> (p)/' m.onnxtxt >old.onnxtxt
for m in m one old; do
    for form in qdq qoperator; do
        onnxtool quantize-static $m.onnxtxt -q --accuracy plain --quant-format $form -o q.onnx --calibration data
        onnxtool check --full -q q.onnx
        onnxtool dump q.onnx -f text | grep -oE '(Add|MaxPool|Pad) .*\(.*\)$'
    done
done
onnxtool quantize-static m.onnxtxt -q --accuracy plain -o q.onnx --calibration data
onnxtool parity m.onnxtxt q.onnx --random 1 --require "sqnr>=30" -q && echo near
