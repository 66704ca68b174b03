# Codes that convolutions keep with their channels last are resized between pixels, too.
weights=$(seq -s, 64 127)
for mode in nearest linear; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (uint8[1,8,4,4] x) => (uint8[1,8,8,8] y)
<float a = {0.5}, float b = {0.01}, float c = {2}, uint8 z = {128}, int8 n = {0}, int8[8,8,1,1] w = {$weights}, float[4] s = {1, 1, 2, 2}>
{
    h = QLinearConv (x, a, z, w, b, n, c, z)
    t = Resize <mode = "$mode"> (h, , s)
    y = QLinearConv (t, a, z, w, b, n, c, z)
}
MODEL
    for level in 0 2; do
        onnxtool run m.onnxtxt --random 1 -O$level -o $level.npz -q
    done
    cmp 0.npz 2.npz && echo $mode
done
