# What -O0 refuses -O2 does not fuse or fold before anything looks: the same message and exit code at every level.
model() { # NAME [OPTION...]: the rest of the model comes on standard input
    echo "== $1" >&2
    shift
    { echo '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'; cat; } >m.onnx
    for level in 0 1 2; do
        onnxtool run m.onnx --random 1 "$@" -O$level >/dev/null
        echo "-O$level: $?" >&2
    done
}
model 'types of a product and what is added' <<'END'
g (float[2,4] x) => (y) <double[2] c = {1, 2}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
    s = MatMul(x, w) t = Add(s, c) y = Relu(t) }
END
model 'types in a run of elementwise operators' <<'END'
g (float[2,4] x) => (y) <double c = {1}> { a = Sigmoid(x) b = Mul(a, x) d = Mul(b, c) y = Relu(d) }
END
model 'types of bounds' <<'END'
g (float[2,4] x) => (y) <double c = {0.5}> { t = Clip(x, c) y = Neg(t) }
END
model 'types of a range of which the size counts' <<'END'
g (float[2,4] x) => (y) <int64 c = {5}, int32 i = {1}, int64 z = {0}> {
    t = Range(z, c, i) s = Size(t) f = Cast <to: int = 1> (s) y = Add(f, x) }
END
model 'a condition that is no bool' <<'END'
g (float[2] x) => (y) <int64 c = {1}> {
    y = If(c) <then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Neg(x) }> }
END
model 'two values of a constant' <<'END'
g (float[2] x) => (y) { c = Constant <value_float: float = 1.0, value_int: int = 2> () d = Sigmoid(x) t = Mul(d, c) y = Relu(t) }
END
model 'a target that does not fit, before sizes alone' <<'END'
g (float[2] x) => (y) <float[6] c = {1, 2, 3, 4, 5, 6}, int64[2] s = {4, 2}> {
    r = Reshape(c, s) e = Size(r) f = Cast <to: int = 1> (e) y = Add(x, f) }
END
model 'an axis that is not one' <<'END'
g (float[2,64,4] x) => (y) <int64[1] a = {1}, int64[2] t = {-1, 256}> { s = Squeeze(x, a) r = Reshape(s, t) y = Neg(r) }
END
model 'an operator of com.microsoft' <<'END'
g (double[2,8] x) => (y) <float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> { h = com.microsoft.BiasGelu(x, b) y = Relu(h) }
END
model 'a branch that is never taken' <<'END'
g (float[2] x) => (y) <double[2] c = {1, 2}, bool no = {0}> {
    y = If(no) <then_branch = t () => (a) { a = Add(x, c) }, else_branch = e () => (b) { b = Neg(x) }> }
END
model 'a branch that the data choose' <<'END'
g (float[2] x) => (y) <double[2] c = {1, 2}> {
    s = ReduceSum <keepdims: int = 0> (x) i = IsNaN(s) no = Not(i)
    y = If(no) <then_branch = t () => (a) { u = Mul(x, c) a = Relu(u) }, else_branch = e () => (b) { b = Neg(x) }> }
END
model 'a bias of another size' <<'END'
g (float[1,3,4,4] x) => (y) <float[4,3,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] b = {1, 2, 3}> {
    [conv] t = Conv(x, w, b) [relu] y = Relu(t) }
END
model 'sizes of an input that its nodes refuse' --shape x=50x5 <<'END'
g (float[N,5] x) => (y) <float[1,5] w = {1, 2, 3, 4, 5}> {
    c = Concat <axis: int = 1> (x, w) s = Shape(c) y = Cast <to: int = 1> (s) }
END
model 'columns that only the inputs tell' --shape x=2x4 <<'END'
g (float[N,K] x) => (y) <float[3,2] m = {1, 2, 3, 4, 5, 6}> { s = Shape(x) r = Reshape(x, s) [product] u = MatMul(r, m) [tanh] y = Tanh(u) }
END
# Lists and indices of which the standard's inference asks nothing.
for one in 'Unsqueeze(x, m)' 'Squeeze(x, m)' 'Slice(x, o, n, m)' 'ReduceSum <keepdims: int = 0> (x, m)' 'Slice(x, oo, nn, ll)' 'Slice(x, o, n, oo)' \
    'Slice(x, ooo, ooo)' 'Gather <axis: int = 1> (x, n)' 'Reshape <allowzero: int = 1> (x, zm)'; do
    model "$one, of which only the size counts" <<END
g (float[1,4] x) => (y) <int64[1,1] m = {0}, int64[1] o = {0}, int64[1] n = {4}, int64[2] oo = {0, 0}, int64[2] nn = {1, 4}, int64[2] ll = {1, -1},
    int64[3] ooo = {0, 0, 0}, int64[2] zm = {0, -1}> {
    t = $one s = Size(t) f = Cast <to: int = 1> (s) y = Add(f, x) }
END
done
model 'axes that only the data tell, as many as there are' <<'END'
g (float[1,7] x) => (y) <int64[2] c = {1, 2}, int64 seven = {7}> {
    k = ArgMax <axis: int = 1, keepdims: int = 0> (x) a = Add(k, seven) m = ReduceSum(c, a) f = Cast <to: int = 1> (m) y = Add(f, x) }
END
# Versions before 8 do not broadcast.
echo "== an old Sum" >&2
echo '<ir_version: 3, opset_import: ["" : 7]> g (float[N,3] x, float[1,3] z) => (y) { t = Sum(x, z) u = Relu(t) y = Neg(u) }' >m.onnx
for level in 0 2; do
    onnxtool run m.onnx --random 1 --shape x=2x3 -O$level >/dev/null
    echo "-O$level: $?" >&2
done
echo "== scales of fewer blocks" >&2
cat >m.onnx <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N,4] x) => (y) <int8[4,2] c = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,2] s = {0.5, 0.25}> {
    w = DequantizeLinear <axis: int = 0, block_size: int = 2> (c, s) y = MatMul(x, w) }
END
for level in 0 2; do
    onnxtool run m.onnx --random 1 --shape x=2x4 -O$level >/dev/null
    echo "-O$level: $?" >&2
done
# What drops out of the graph before it is asked for is refused as well.
for domains in '"ai.onnx.ml" : 3' '"" : 99'; do
    echo "== an import of $domains alone" >&2
    printf '<ir_version: 8, opset_import: [%s]>\ng (float[2] x) => (y) { t = Identity(x) y = ai.onnx.ml.Scaler <offset = [0.0]> (t) }\n' "$domains" >m.onnx
    for level in 0 2; do
        onnxtool run m.onnx --random 1 -O$level >/dev/null
        echo "-O$level: $?" >&2
    done
done
