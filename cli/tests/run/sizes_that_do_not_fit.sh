# Sizes that a model cannot take: what was guessed is told; maps that do not join say which dimension, also where they are written as one.
cat >m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,height,width] image) => (y) {
    s = Constant <value_ints = [16, 3, 3, 3]> ()
    v = Constant <value_ints = [16, 16, 3, 3]> ()
    u = Constant <value_ints = [16, 32, 3, 3]> ()
    r = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
    w1 = ConstantOfShape (s)
    w2 = ConstantOfShape (v)
    w3 = ConstantOfShape (u)
    a = Conv <pads = [2, 2, 2, 2], dilations = [3, 3], strides = [2, 2]> (image, w1)
    p = Relu (a)
    b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (p, w2)
    q = Relu (b)
    c = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (q, , r)
    d = Concat <axis = 1> (c, p)
    y = Conv <pads = [1, 1, 1, 1]> (d, w3)
}
END
for level in 0 2; do
    onnxtool run m.onnxtxt --random 1 -O$level
    onnxtool run m.onnxtxt --random 1 --shape image=1x3x11x9 -O$level
done
onnxtool parity m.onnxtxt --random 1 -O0 -O2
onnxtool run m.onnxtxt --random 1 --shape image=1x3x9x13 -q -o y.npz
