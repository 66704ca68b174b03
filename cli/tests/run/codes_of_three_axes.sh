# Convolutions and pools of 8-bit codes over three axes have kernels of their own at -O2, which give the codes of -O0.
weights() { seq -s, "$1" "$2"; }
while read -r name channels conv pool; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (uint8[2,4,5,6,7] x) => (int32[N,M,A,B,C] i, uint8[N,M,A,B,C] y, uint8[N,K,D,E,F] p)
<float s = {0.5}, float u = {400}, uint8 z = {128}, uint8 a = {3}, int8 o = {0},
 int8[6,4,3,2,1] w4 = {$(weights -72 71)}, int8[6,2,3,2,1] w2 = {$(weights -36 35)}>
{
    i = ConvInteger <$conv> (x, w$channels, a, o)
    y = QLinearConv <$conv> (x, s, a, w$channels, s, o, u, z)
    p = MaxPool <kernel_shape = [2,3,2], $pool> (x)
}
MODEL
    for run in '-O0' '-O2 -t 1' '-O2 -t 2'; do
        onnxtool run m.onnxtxt --random 1 $run -o "${run#*O}.npz" -q
    done
    cmp 0.npz '2 -t 1.npz' && cmp 0.npz '2 -t 2.npz' && echo "$name"
done <<'CASES'
plain 4 dilations=[1,1,1] dilations=[1,1,1]
strides 4 strides=[2,1,2] strides=[2,1,2]
padded 4 pads=[2,1,0,1,0,2],strides=[1,2,1] pads=[1,1,1,0,1,0],strides=[1,2,1]
groups 2 group=2,pads=[1,1,1,1,1,1],dilations=[2,1,1] pads=[1,1,1,1,1,1],dilations=[2,1,1]
CASES
