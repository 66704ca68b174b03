cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g () => (y)
<float[2,3] w = {1, -2, 3, 0, 0, 4}, float[3] odd = {nan, inf, 2}, int4[3] packed = {33, 2}, string[2] names = {"a", "b"},
 float[0] none = {}, float16[2] h = {15360, 16384}, bool[2] mask = {1, 0}, float wrong = {1, 2}>
{
   [held] k = Constant <value = int64[2] {7, 8}> ()
   y = Identity (w)
}
X
onnxtool dump -f tensors m.onnxtxt 2>err; echo "exit $?"; cat err
onnxtool dump -f tensors --weights none m.onnxtxt
onnxtool dump --tensor w m.onnxtxt
onnxtool dump --tensor k --json m.onnxtxt
onnxtool dump --tensor w -o w.npy m.onnxtxt && od -An -c w.npy | head -n 1
onnxtool dump --tensor nothing m.onnxtxt 2>&1; echo "exit $?"
