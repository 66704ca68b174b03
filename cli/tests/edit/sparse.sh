# Weights pruned along what is summed over, initializers stored as sparse ones and back.
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4,1,1] x, float[2,8] a) => (float[1,2,1,1] y, float[2,3] z, float[2,3] u, float[2,5] v, float[4,4] t)
<float[4,4] s = {0,0,0,0, 0,-0,0,0, 0,0,0,0, 5,0,6,0}, float[2,4,1,1] w = {1,-2,3,-4, 0.5,0.5,0.5,0.5}, float[8,3] m = {1,2,3, 4,5,6, 7,8,9, 1,1,1, 9,8,7, 6,5,4, 3,2,1, 0,0,0}, float[3,8] g = {8,7,6,5,4,3,2,1, 1,2,3,4,5,6,7,8, -1,0,0,0,0,0,0,-1}, float[8,5] tied = {1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5}, float[5,6] odd = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> {
  y = Conv(x, w)
  z = MatMul(a, m)
  u = Gemm<transB = 1>(a, g)
  v = MatMul(a, tied)
  t = Neg(s)
}
END
"$ONNXTOOL" edit m.onnxtxt --prune 2:4 -o pruned.onnxtxt -f json
"$ONNXTOOL" dump -f tensors pruned.onnxtxt
"$ONNXTOOL" dump -f json --weights none pruned.onnxtxt > /dev/null && "$ONNXTOOL" dump --tensor w pruned.onnxtxt && "$ONNXTOOL" dump --tensor g pruned.onnxtxt
"$ONNXTOOL" edit pruned.onnxtxt --sparse-initializers 0.7 -o sparse.onnx
"$ONNXTOOL" check sparse.onnx && "$ONNXTOOL" dump -f tensors sparse.onnx | grep sparse
# The same values, before and after, and pruning again finds nothing to do.
"$ONNXTOOL" parity pruned.onnxtxt sparse.onnx --random 1 --rtol 0 --atol 0 -q && echo same
"$ONNXTOOL" edit sparse.onnx --dense-initializers -o dense.onnx
"$ONNXTOOL" edit dense.onnx --prune 2:4 -o again.onnx -f json | grep zeroed
"$ONNXTOOL" diff pruned.onnxtxt again.onnx && echo equal
"$ONNXTOOL" edit m.onnxtxt --sparse-initializers 0.99 -o sparse.onnx
# Weights that are not of a multiple are left.
"$ONNXTOOL" edit m.onnxtxt --prune 2:3 -o other.onnxtxt
refuse() { "$ONNXTOOL" edit m.onnxtxt "$@" -o no.onnxtxt 2>&1; echo "exit $?"; }
refuse --prune 4:2
refuse --prune 2:4x
refuse --sparse-initializers 2
sed 's/ir_version: 8/ir_version: 5/' m.onnxtxt > old.onnxtxt
"$ONNXTOOL" edit old.onnxtxt --sparse-initializers 0.1 -o no.onnxtxt 2>&1
echo "exit $?"
