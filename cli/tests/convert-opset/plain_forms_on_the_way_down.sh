# Old releases misread a list of one in Constant, and allowzero beside -1; where a 0 may stand allowzero stays.
printf '<ir_version: 9, opset_import: ["" : 19]> g (float[N,6] x, int64[2] t) => (float[A,B] y, float[C,D] z) <int64[2] s = {-1, 3}> {
  a = Constant <value_ints = [0]> ()
  r = ReduceSum <keepdims = 1> (x, a)
  p = Add(x, r)
  y = Reshape <allowzero = 1> (p, s)
  z = Reshape <allowzero = 1> (p, t)
}' > new.txt
onnxtool convert-opset new.txt --to 14 --no-verify -o old.onnx
onnxtool dump -f text old.onnx
