# A target that is put together as it runs: the old batch in front of sizes that were open already.
for zero in 0 1; do
    cat >m.onnxtxt <<M
<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 4, T] x) => (float[1, 4, T] y) <int64[1] batch = {1}>
{
  rest = Shape <start = 1> (x)
  target = Concat <axis = 0> (batch, rest)
  y = Reshape <allowzero = $zero> (x, target)
}
M
    onnxtool shape-infer --free x=Nx4xT -o free.onnx m.onnxtxt && onnxtool dump -f text free.onnx | sed -n '/^{/,$p'
    onnxtool run --random 1 --shape x=3x4x2 -f json free.onnx | tr -d " \n" | grep -o "\"shape\":[^]]*]"
done
