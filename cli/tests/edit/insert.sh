cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17]> g (float[N,3] x, bool c) => (float[N,3] y, float[N,3] z) <float[3] w = {1,2,3}, float[N,3] t> {
  t = Add(x, w)
  y = Neg(t)
  z = If(c) <then_branch = th () => (float[N,3] p) { p = Identity(t) }, else_branch = el () => (float[N,3] q) { q = Abs(t) }>
}
END
edit() { onnxtool edit m.txt "$@" -o o.txt && cat o.txt && onnxtool check --full o.txt; }
# Behind an output; behind what a branch takes, with another type and rank; behind an input; one behind the other.
edit --insert 'y=Softmax<axis = -1>'
edit --insert 't=(x) => (y) { a = Constant<value_ints = [0]>() u = Unsqueeze(x, a) y = Cast<to = 11>(u) }'
edit --insert 'x=(v) => (r) { h = Constant<value = float {0.5}>() r = Sub(v, h) }'
edit --rename y=out --insert 'out=Sigmoid' --insert 'out=(x) => (y) { y = Mul(x, x) }'
fail() { onnxtool edit m.txt "$@" -o no.txt 2>&1; echo "exit $?"; }
fail --insert nothing=Neg
fail --insert y
fail --insert 'y=(x, z) => (y) { y = Add(x, z) }'
fail --insert 'y=(x) => (y) {'
fail --insert c=Not
onnxtool edit m.txt --insert t=Nonsense -o odd.txt 2>&1
echo "exit $?"
