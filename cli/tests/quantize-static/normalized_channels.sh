# Channels that a convolution makes for a normalization of each alone may have any size: they are made nearly equal, so that one scale
# serves them. Here one is a hundredth of the other.
samples() {
    printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,1,4,32] a) => (float[batch,1,4,32] x) { x = Identity (a) }\n' >samples.onnxtxt
    onnxtool run samples.onnxtxt --random 1 --shape a=20x1x4x32 -o all.npz -q
}
model() { # opset, what follows the convolution
    printf '<ir_version: 8, opset_import: ["" : %s]>\ng (float[batch,1,4,32] x) => (float[batch,4,4,32] y%s)\n<float[4,1,1,3] w = {100, -50, 70, -80, 30, 40, 0.5, -1, 0.8, 1, 0.3, -0.6}, float[4] b = {3, 8, 0.25, -0.1},\n float[2] s = {1, 2}, float[2] t = {0.5, -0.5}, float[4] s4 = {1, 2, 1, 3}, float[4] t4 = {0.5, -0.5, 0, 1}, int64[3] parts = {0, 2, -1}, int64[3] mixed = {-1, 2, 128}, int64[4] whole = {-1, 4, 4, 32}>\n{\n    ["conv"] c = Conv <pads = [0, 1, 0, 1]> (x, w, b)\n    %s\n}\n' "$1" "$3" "$2" >m.onnxtxt
}
look() {
    for how in '' --equalize; do
        # shellcheck disable=SC2086
        onnxtool quantize-static m.onnxtxt -o q.onnx --calibration all.npz --accuracy plain $how | grep evened
        onnxtool check q.onnx >out || cat out
        if onnxtool parity q.onnx m.onnxtxt -i all.npz --rtol 0 --atol 0.2 >out 2>&1; then echo near; else echo far; fi
    done
}
samples
echo '--- InstanceNormalization'
model 17 'y = InstanceNormalization (c, s4, t4)'
look
echo '--- groups, in the form of exporters'
model 17 'r = Reshape (c, parts)
    n = InstanceNormalization (r, s, t)
    y = Reshape (n, whole)'
look
echo '--- GroupNormalization'
model 21 'y = GroupNormalization <num_groups = 2> (c, s4, t4)'
look
echo '--- read by something else'
model 17 'y = InstanceNormalization (c, s4, t4)
    z = Neg (c)' ', float[batch,4,4,32] z'
look
echo '--- another batch'
model 17 'r = Reshape (c, mixed)
    n = InstanceNormalization (r, s, t)
    y = Reshape (n, whole)'
look
echo '--- variances near epsilon'
model 17 'y = InstanceNormalization <epsilon = 50.0> (c, s4, t4)'
look
