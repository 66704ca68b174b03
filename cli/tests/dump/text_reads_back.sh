cat > model.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21, "my.domain" : 1], producer_name: "hand", metadata_props: ["k \"quoted\"": "v"]>
"a graph" (float[N, 3] X, bool c, "int64"[] unknown_rank, seq(float[2,?]) s) => (float[N, 3] Y)
<float[3] w = {1, -0.5, inf}, int4[3] packed = {33, 2}, string[2] names = {"a", "b\\"}, float16[1] h = {15360}, float[N, 3] T>
{
   # a comment
   [first] T = Mul (X, w)
   U, , V = my.domain.Op:other <alpha = 1.0, beta: ints = [], list = [1, 2], t = float[2] {1, 2}, tp: type_proto = float[2]> (T, , c)
   Y = If (c) <then_branch = yes () => (y) { y = Identity(T) }, else_branch = no () => (float[N, 3] z) { z = my.domain.twice(T) }>
}
<domain: "my.domain", opset_import: ["" : 21]>
twice <alpha, beta: float = 2.0> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }
X
sed -i 's/"int64"\[\]/int64[]/' model.onnxtxt
onnxtool dump -f text model.onnxtxt | tee once.onnxtxt
onnxtool dump -f text once.onnxtxt | cmp - once.onnxtxt && echo same
onnxtool dump -f json model.onnxtxt > m.json
onnxtool dump -f text m.json | cmp - once.onnxtxt && echo same
onnxtool dump -f textproto model.onnxtxt > m.pbtxt
onnxtool dump -f text m.pbtxt | cmp - once.onnxtxt && echo same
onnxtool convert-opset m.pbtxt --to 22 --no-verify -q -o next.textproto 2>/dev/null; sed -n 1,3p next.textproto
