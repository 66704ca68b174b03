# Functions that call themselves, in a branch too, or that come to more nodes than there is room for are told at once.
write() {
    echo '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>'
    echo 'g (float[2] x) => (float[2] y) { y = local.f0(x) }'
    cat
}
call() { echo "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> $1 (a) => (b) { $2 }"; }
call f0 'b = local.f0(a)' | write > itself.onnxtxt
{ call f0 't = local.f1(a) b = local.f1(t)'; call f1 'b = local.f0(a)'; } | write > each_other.onnxtxt
call f0 'c = Constant<value = bool {1}>() b = If(c)<then_branch = yes () => (t) { t = local.f0(a) }, else_branch = no () => (e) { e = Relu(a) }>' |
    write > in_a_branch.onnxtxt
for i in $(seq 0 39); do call f$i "t = local.f$((i + 1))(a) b = local.f$((i + 1))(t)"; done > doubling
{ cat doubling; call f40 'b = Relu(a)'; } | write > doubling.onnxtxt
for i in $(seq 0 120); do call f$i "b = local.f$((i + 1))(a)"; done > chain
{ cat chain; call f121 'b = Relu(a)'; } | write > chain.onnxtxt
sed 's/local.f4(/Relu(/g' doubling.onnxtxt > few.onnxtxt
for model in itself each_other in_a_branch doubling chain few; do
    onnxtool optimize --timeout 20 --inline $model.onnxtxt -o out.onnx 2>&1
    echo "exit $?"
done
printf '[[1, 2], [3, 4]]' > x.json
onnxtool quantize-static --timeout 20 in_a_branch.onnxtxt --calibrate-only --calibration x.json --table t.json 2>&1
ls
