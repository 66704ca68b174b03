# What no shape tells: a table with rows for the old size alone; rows that depend on each other are a warning.
cat >table.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 4] x) => (float[K, 4] y) <float[1] table = {7}, int64 zero = {0}, int64 one = {1}>
{
  same = Equal (x, x)
  ones = Cast <to = 7> (same)
  counted = CumSum (ones, zero)
  rows = Sub (counted, one)
  ["look_up"] y = Gather (table, rows)
}
M
onnxtool shape-infer --free x=N -o free.onnx table.onnxtxt || echo "exit $?"
[ -e free.onnx ] && echo "written all the same"
onnxtool shape-infer --free x=N -o free.onnx table.onnxtxt --no-verify && onnxtool check free.onnx
cat >mean.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 4] x) => (float[1, 4] y) <int64[1] first = {0}>
{
  mean = ReduceMean (x, first)
  half = Mul (mean, x)
  y = Add (half, x)
}
M
onnxtool shape-infer --free x=N -o free.onnx mean.onnxtxt
# A sequence may be longer than a model has positions for.
sed 's/float\[1, 4\] x/float[2, 4] x/; s/float\[1\] table = {7}/float[5] table = {1, 2, 3, 4, 5}/; s/int64 zero = {0}/int64 zero = {1}/' table.onnxtxt >positions.onnxtxt
onnxtool shape-infer --free x=2xT -o free.onnx positions.onnxtxt && onnxtool check free.onnx
onnxtool shape-infer --no-verify table.onnxtxt
