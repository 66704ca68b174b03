# Each model has one planted cause, a node or an input named "planted", several nodes before the value that is asked for, and beside
# it a decoy of which the value knows nothing. The text must end in the planted one, and so must the JSON's last step.
plant() { # WHAT INPUTS NODES [HEADER [FUNCTIONS]]: nodes make v; what follows is the same for all
    cat > m.onnxtxt <<END
<ir_version: 10, opset_import: ["" : 21, "ours" : 1, "other" : 1]>
g ($2${2:+, }float[D, 4] decoy, float[N, 4] x) => (out, e)
$4
{
  [decoy] d = NonZero(decoy)
  e = Cast <to = 1>(d)
$3
  [after_1] a = Relu(v)
  [after_2] b = Identity(a)
  [after_3] out = Abs(b)
}
$5
END
    echo "== $1"
    onnxtool shape-infer --explain out m.onnxtxt || echo "exit $?"
    onnxtool shape-infer --explain out -f json m.onnxtxt | tr -d '\n' | sed 's/"graph"/\n&/g' |
        grep -o '"\(name\|producer\)": "[^"]*planted[^"]*"' | tail -n 1 | sed 's/^/json: /'
}
plant 'count of nonzeros' '' '[planted] n = NonZero(x) v = Cast <to = 1>(n)'
plant 'operator of a domain that nobody knows' '' '[planted] u = other.Thing(x) v = Add(u, u)'
plant 'input without a type' 'planted' 'v = Neg(planted)'
plant 'input with an open dimension' 'float[?, 2] planted' 'v = Neg(planted)'
plant 'target of Reshape is an input' 'int64[3] planted' 'v = Reshape(x, planted)'
plant 'target computed from an input' 'int64 planted' 'm = Constant <value_ints = [2]>() z = Constant <value_ints = [0]>() p = Unsqueeze(planted, z) t = Concat <axis = 0>(p, m) v = ConstantOfShape(t)'
plant 'how many of TopK' 'int64[1] planted' 'v, i = TopK(x, planted)'
plant 'end of a Range' 'float planted' 's = Constant <value_float = 0.0>() o = Constant <value_float = 1.0>() v = Range(s, planted, o)'
plant 'trips of a Loop' 'int64 planted' 'lst, v = Loop(planted, , x) <body = b (int64 i, bool c, float[P, Q] s) => (c2, s2, it) { c2 = Identity(c) s2 = Identity(s) it = Identity(s) }>'
plant 'branches of different rank' 'bool go' '[planted] v = If (go) <then_branch = t () => (p) { p = Identity(x) }, else_branch = f () => (p) { p = ReduceSum <keepdims = 0>(x) }>'
plant 'branches of different sizes' 'bool go' '[planted] v = If (go) <then_branch = t () => (p) { p = Identity(x) }, else_branch = f () => (p) { p = Concat <axis = 0>(x, x) }>'
plant 'unique elements' '' '[planted] v = Unique(x)'
plant 'rows that a mask keeps' 'bool[N] mask' '[planted] v = Compress <axis = 0>(x, mask)'
plant 'boxes that are selected' 'float[1, B, 4] boxes, float[1, C, B] scores' '[planted] s = NonMaxSuppression(boxes, scores) v = Cast <to = 1>(s)'
plant 'end of a Slice' 'int64[1] planted' 's = Constant <value_ints = [0]>() v = Slice(x, s, planted)'
plant 'repeats of Tile' 'int64[2] planted' 'v = Tile(x, planted)'
plant 'shape of ConstantOfShape' 'int64[2] planted' 'v = ConstantOfShape(planted)'
plant 'rank of a target' 'int64[R] planted' 'v = Expand(x, planted)'
plant 'Squeeze of what may be 1' '' '[planted] v = Squeeze(x)'
plant 'scales of Resize' 'float[2] planted' 'v = Resize(x, , planted)'
plant 'pads' 'int64[4] planted' 'v = Pad(x, planted)'
plant 'default that a caller may replace' 'int64[2] planted' 'v = Reshape(x, planted)' '<int64[2] planted = {4, -1}>'
plant 'inside a function' '' 'v = ours.f(x)' '' '<domain: "ours", opset_import: ["" : 21, "other" : 1]> f (p) => (q) { r = Relu(p) [planted] s = other.Thing(r) q = Abs(s) }'
plant 'elements of different rank' 'int64 at' 'l = ReduceSum <keepdims = 0>(x) [planted] s = SequenceConstruct(x, l) v = SequenceAt(s, at)'
plant 'state that grows by data' '' 'n = Constant <value_int = 3>() v = Loop(n, , x) <body = b (int64 i, bool c, float[P, Q] s) => (c2, s2) { c2 = Identity(c) [planted] k = Unique <axis = 0>(x) s2 = Concat <axis = 0>(s, k) }>'
