# Two models walk in step within what is live at a time, in whatever order their files have what depends on no input.
n=40
header='<ir_version: 8, opset_import: ["" : 17]>
g (float[1,64,64,64] x) => (float[1,64,64,64] y) <int64[4] s = {1, 64, 64, 64}>
{
    '
chain() { # ends with h
    for i in $(seq $n); do
        [ "$1" = between ] && small $i && large $i
        echo "a$i = Mul(${h:-x}, c$i) b$i = Add(a$i, t$i)"
        h=b$i
    done
    h=
}
small() { echo "c$1 = Constant<value_float = 0.$1>()"; }
large() { echo "w$1 = ConstantOfShape<value = float[1] {0.$1}>(s) t$1 = Transpose<perm = [0, 1, 3, 2]>(w$1)"; }
# Taken by a branch and by nodes of both kinds, so that it must be there before the first of them.
rest="r = ReduceMax<keepdims = 0>(f) m = ReduceMax<keepdims = 0>(x) p = Greater(m, r)
v = If<then_branch = t () => (float[1,64,64,64] d) { d = Mul(b$n, f) }, else_branch = e () => (float[1,64,64,64] d) { d = Identity(b$n) }>(p)
z = Neg(f) y = Mul(v, z) }"
own='f = Constant<value_floats = [0.5]>()'
{
    echo "$header $own"
    for i in $(seq $n); do small $i && large $i; done
    chain front
    echo "$rest"
} >front.onnx
{
    echo "$header"
    chain between
    echo "$own $rest"
} >between.onnx
for pair in "front.onnx between.onnx" "between.onnx front.onnx"; do
    "$ONNXTOOL" parity $pair --random 1 --layers --max-memory 12M | grep -A 1 '^output'
done
