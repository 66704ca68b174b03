# No window fits small sizes, and the state's batch is that of the signal; lengths are those of rows. An input that may be left out is not drawn.
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[batch,time] x, float[2,batch,3] h) => (y, z) <float[4,1,200] w = {%s1}> {
  axis = Constant<value_ints=[1]>() a = Unsqueeze(x, axis) b = Identity(a) c = Conv(b, w) y = ReduceMax(c)
  d = ReduceSum<keepdims=0>(h) f = Shape(x) n = Gather<axis=0>(f, axis) u = Cast<to=1>(n) z = Mul(d, u) }' "$(yes '0.5,' | head -n 799 | tr -d '\n')" > signal.txt
onnxtool optimize signal.txt -o o.onnx
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,7,3] x, int64[n] lengths) => (y) {
  m = ReduceMax<keepdims=0>(lengths) zero = Constant<value_int=0>() one = Constant<value_int=1>() t = Range(zero, m, one) f = Cast<to=1>(t)
  axes = Constant<value_ints=[0,2]>() u = Unsqueeze(f, axes) s = Constant<value_ints=[1,7,1]>() v = Reshape(u, s) i = Identity(v) y = Mul(x, i) }' > lengths.txt
onnxtool optimize lengths.txt -o o.onnx
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3] x, float[1,2] w) => (y) <float[1,2] w = {1,2}> { y = Add(x, w) }' > left_out.txt
onnxtool optimize left_out.txt; echo $?
