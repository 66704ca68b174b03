# The outputs alone, as an archive that the program reads back; what would be printed beside them is refused.
cat >sum.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2] y, seq(float[2]) s)
{
    axes = Constant <value: tensor = int64[1] {1}> ()
    y = ReduceSum <keepdims: int = 0> (x, axes)
    s = SequenceConstruct (y, y)
}
M
"$ONNXTOOL" run sum.onnxtxt --random 1 -f npz >out.npz
"$ONNXTOOL" run sum.onnxtxt --random 1 -o file.npz
cmp out.npz file.npz && echo same bytes
"$ONNXTOOL" run sum.onnxtxt --random 1 -f npz -o out.npz
echo "exit $?"
"$ONNXTOOL" run sum.onnxtxt --random 1 -o -
echo "exit $?"
