cat > a.txt <<'END'
<ir_version: 10, producer_name: "maker", doc_string: "about", opset_import: ["" : 18, "local" : 1], metadata_props: ["k" : "v"]>
net (float[N,3,8,8] x, float[1] s = {2.0}) => (float[N,4] y, float[N,2,4,4] pooled) <
  float[2,3,3,3] w1 = {0.5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0, 1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0},
  float[2] b1 = {0.25, -0.25}, float[32,4] w2, int64[2] shape = {0, -1}, float[N,2,8,8] act
> {
  [conv] c = Conv<pads = [1,1,1,1], kernel_shape = [3,3]>(x, w1, b1)
  [act] act = LeakyRelu<alpha = 0.1>(c)
  [pool] pooled = MaxPool<kernel_shape = [2,2], strides = [2,2]>(act)
  [flat] f = Reshape(pooled, shape)
  [fc] h = Gemm<transB = 0>(f, w2)
  [f] g = local.twice(h)
  [sum] y = Add(g, s)
}
<domain: "local", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }
END
sed -i "s/float\[32,4\] w2,/float[32,4] w2 = {$(seq -s, 1 128)},/" a.txt
plant() {
    sed "$2" a.txt > b.txt
    cmp -s a.txt b.txt && echo "nothing was planted: $1"
    echo "== $1"
    onnxtool diff a.txt b.txt 2> /dev/null | sed 1,2d
}
plant 'IR version' 's/ir_version: 10/ir_version: 9/'
plant 'opset' 's/\["" : 18, "local"/["" : 19, "local"/'
plant 'an opset more' 's/"local" : 1\]/"local" : 1, "other" : 2]/'
plant 'producer' 's/maker/other/'
plant 'model doc string' 's/about/more/'
plant 'metadata value' 's/"k" : "v"/"k" : "w"/'
plant 'metadata key' 's/"k" : "v"/"j" : "v"/'
plant 'graph name' 's/^net /web /'
plant 'input type' 's/float\[N,3,8,8\] x/float16[N,3,8,8] x/'
plant 'input dimension' 's/float\[N,3,8,8\] x/float[1,3,8,8] x/'
plant 'symbol' 's/float\[N,3,8,8\] x/float[M,3,8,8] x/'
plant 'input name' 's/8\] x,/8] image,/; s/(x, w1/(image, w1/'
plant 'input more' 's/float\[1\] s = {2.0})/float[1] s = {2.0}, float extra)/'
plant 'input default' 's/s = {2.0}/s = {3.0}/'
plant 'output dropped' 's/, float\[N,2,4,4\] pooled)/)/'
plant 'outputs swapped' 's/(float\[N,4\] y, float\[N,2,4,4\] pooled)/(float[N,2,4,4] pooled, float[N,4] y)/'
plant 'output type' 's/float\[N,4\] y/float[N,5] y/'
plant 'value type' 's/float\[N,2,8,8\] act/float[N,2,8,9] act/'
plant 'attribute value' 's/alpha = 0.1/alpha = 0.2/'
plant 'attribute list' 's/pads = \[1,1,1,1\]/pads = [1,1,0,1]/'
plant 'attribute added' 's/transB = 0/transB = 0, alpha = 2.0/'
plant 'attribute removed' 's/, kernel_shape = \[3,3\]>(x/>(x/'
plant 'attribute type' 's/alpha = 0.1/alpha = 1/'
plant 'operator' 's/LeakyRelu<alpha = 0.1>/Relu/'
plant 'node name' 's/\[pool\]/[max]/'
plant 'value name' 's/ c = Conv/ cc = Conv/; s/(c)/(cc)/'
plant 'node removed' '/LeakyRelu/d; s/(act)/(c)/'
plant 'node added' 's/  \[pool\].*/  [clip] cl = Clip(act)\n&/; s/pooled = MaxPool\(.*\)(act)/pooled = MaxPool\1(cl)/'
plant 'input of a node' 's/Conv\(.*\)(x, w1, b1)/Conv\1(x, w1)/'
plant 'connection' 's/Add(g, s)/Add(h, s)/'
plant 'operands swapped' 's/Add(g, s)/Add(s, g)/'
plant 'a weight' 's/{0.25, -0.25}/{0.25, -0.5}/'
plant 'weight shape' 's/int64\[2\] shape = {0, -1}/int64[3] shape = {0, -1, 1}/'
plant 'weight type' 's/float\[2\] b1/double[2] b1/'
plant 'weight name' 's/b1/bias/g'
plant 'function body' 's/Add(a, a)/Mul(a, a)/'
plant 'function opset' 's/opset_import: \["" : 18\]> twice/opset_import: ["" : 17]> twice/'
plant 'function renamed' 's/twice/double/g'
plant 'weight made a Constant' 's/float\[2\] b1 = {0.25, -0.25}, //; s/^  \[conv\]/  b1 = Constant<value: tensor = float[2] {0.25, -0.25}>()\n&/'
plant 'weight made another Constant' 's/float\[2\] b1 = {0.25, -0.25}, //; s/^  \[conv\]/  bias = Constant<value: tensor = float[2] {0.25, 0.25}>()\n&/; s/, b1)/, bias)/'
cat > a.txt <<'END'
<ir_version: 10, opset_import: ["" : 18]>
net (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
  y = If (c) <then_branch = a () => (float[2] p) { p = Add(x, w) }, else_branch = b () => (float[2] q) { q = Neg(x) }>
}
END
plant 'a weight that a subgraph uses' 's/{1, 2}/{1, 3}/'
plant 'a weight that a subgraph uses made a Constant' 's/ <float\[2\] w = {1, 2}>//; s/^  y = If/  w = Constant<value: tensor = float[2] {1, 2}>()\n&/'
