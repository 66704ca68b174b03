# What contradicts itself in a branch that never runs is an error only where the standard's own rules find it too.
branch() { # FILE CONDITION NODE-OF-THE-BRANCH
    cat > "$1" <<M
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x, bool open) => (float[2,3] y)
<bool never = {0}>
{
    shape = Shape (x)
    rank = Size (shape)
    four = Constant <value_int = 4> ()
    computed = Equal (rank, four)
    y = If ($2) <then_branch = a () => (p) { $3 }, else_branch = b () => (q) { q = Identity (x) }>
}
M
}
two='two = Constant <value_ints = [2]> () p = Reshape (x, two)'
branch values.onnxtxt computed "$two"
branch open.onnxtxt open "$two"
branch rules.onnxtxt computed 'p = MatMul (x, x)'
branch constant.onnxtxt never 'p = MatMul (x, x)'
for model in values open rules constant; do
    onnxtool check --full $model.onnxtxt 2> errors || echo "exit code $?"
done
