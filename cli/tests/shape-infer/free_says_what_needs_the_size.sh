cat >m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2, 4] x) => (float[4, 4] y) <float[2, 4] more = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  sum = Add (x, more)
  y = Concat <axis = 0> (sum, more)
}
M
onnxtool shape-infer --free x=N -o free.onnx m.onnxtxt
code=$?
[ -e free.onnx ] && echo "written all the same"
exit $code
