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
echo "--- names with colons"
cat > colons.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2] "x:0") => (float[2] y) { "onnx::A_1" = Relu ("x:0") "b:0" = Neg ("onnx::A_1") y = Abs ("b:0") }
X
onnxtool dump --extract :onnx::A_1 -o a.onnx colons.onnxtxt && onnxtool dump a.onnx | grep -E '^(in|out)puts'
onnxtool dump --extract onnx::A_1:b:0 -o b.onnx colons.onnxtxt && onnxtool dump b.onnx | grep -E '^(in|out)puts'
onnxtool dump --extract x:0:onnx::A_1 -o c.onnx colons.onnxtxt && onnxtool dump c.onnx | grep -E '^(in|out)puts'
