printf '<ir_version: 8, opset_import: ["" : 17]> g (float16[1,4,5,5] x) => (float16[1,2,5,5] y) <float16[2,4,1,1] w = {14746,47329,13652,46776,11878,15155,47718,45752}, float16[2] s = {13804,16282}, float16[2] b = {8479,46285}, float16[2] m = {12902,44646}, float16[2] v = {14541,16077}> {
  c = Conv(x, w)
  y = BatchNormalization(c, s, b, m, v)
}' > m.txt
onnxtool optimize m.txt -o out.onnx
onnxtool dump out.onnx | grep -c BatchNormalization
onnxtool optimize m.txt --rtol 1e-4 -o out.onnx
