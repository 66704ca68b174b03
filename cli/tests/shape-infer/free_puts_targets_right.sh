# A class token put before a sequence, and heads split and merged with the batch written down as 1.
cat >m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 4, 6] x) => (float[1, 5, 6] y)
<float[1, 1, 6] token = {1, 2, 3, 4, 5, 6}, int64[4] split = {1, 5, 2, 3}, int64[3] merge = {1, 5, 6}, int64[3] heads = {2, 5, 3}>
{
  joined = Concat <axis = 1> (token, x)
  parts = Reshape (joined, split)
  turned = Transpose <perm = [0, 2, 1, 3]> (parts)
  merged = Reshape (turned, heads)
  split_again = Constant <value_ints = [1, 2, 5, 3]> ()
  back4 = Reshape (merged, split_again)
  back = Transpose <perm = [0, 2, 1, 3]> (back4)
  y = Reshape (back, merge)
}
M
onnxtool shape-infer --free x=N -o free.onnx m.onnxtxt
onnxtool dump -f text free.onnx
onnxtool run -O0 --random 1 --shape x=3x4x6 --outputs y -f json free.onnx | tr -d " \n" | grep -o "\"shape\":[^]]*]"
