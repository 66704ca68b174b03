cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21, "f" : 1, "unused" : 3]>
g (float[N,4] x, float[N,4] other) => (y, z)
<float[4,4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}, float[4] b = {1,2,3,4}, int64 two = {2}>
{
   [first] a = MatMul (x, w)
   [second] c = f.twice (a)
   [third] p, q = Split <axis = 1, num_outputs = 2> (c)
   [fourth] y = Add (c, b)
   [fifth] z = f.once (other)
   [sixth] s = Shape (p)
   [seventh] l = Loop (two, , c) <body = body (int64 i, bool go, v) => (go2, v2) { go2 = Identity (go) v2 = Add (v, a) }>
}
<domain: "f", opset_import: ["" : 21]> twice (i) => (o) { o = Add (i, i) }
<domain: "f", opset_import: ["" : 21]> once (i) => (o) { o = Identity (i) }
X
onnxtool dump --extract x:c -o head.onnxtxt m.onnxtxt && onnxtool dump -f text head.onnxtxt
onnxtool dump --extract c:y -o tail.onnx m.onnxtxt && onnxtool dump -f text tail.onnx && onnxtool check --full tail.onnx
echo "--- its own inputs; a subgraph's captures"
onnxtool dump --extract :l -o loop.onnx m.onnxtxt && onnxtool dump -f text loop.onnx
echo "--- a node of which one output is given"
onnxtool dump --extract c,p:s,q -o split.onnx m.onnxtxt && onnxtool dump -f text split.onnx && onnxtool check --full split.onnx
echo "--- a weight as input"
onnxtool dump --extract a,b,c:y -o weight.onnx m.onnxtxt
onnxtool dump --extract c,b:y -o weight.onnx m.onnxtxt && onnxtool dump -f text weight.onnx
