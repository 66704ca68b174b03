# A stored shape that only computed sizes contradict is a warning, as exporters leave them; one that the rules contradict is an error.
cat > computed.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[K,L] y) <float[N,2,3] z> {
    two = Constant <value = int64[2] {2, 2}> ()
    s0 = Shape <start = 0, end = 1> (x)
    s = Concat <axis = 0> (s0, two)
    z = Reshape(x, s)
    y = Flatten(z)
}
M
onnxtool check --full computed.onnxtxt
# Before opset 14 no rule told the rank of a Reshape by how many sizes it is given, and none that of what follows from it.
cat > rank.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 12]>
g (float[N,4] x) => (float y) {
    sizes = Shape(x)
    one = Constant <value = int64[1] {1}> ()
    s = Concat <axis = 0> (sizes, one)
    r = Reshape(x, s)
    y = Transpose <perm = [0, 2, 1]> (r)
}
M
onnxtool check --full rank.onnxtxt
sed 's/"" : 12/"" : 14/' rank.onnxtxt > rank_14.onnxtxt
onnxtool check --full rank_14.onnxtxt 2> /dev/null || true
# The standard has no shape rule for these regressors before ai.onnx.ml 3: CatBoost stores [N] for what is [N,1].
cat > unruled.onnxtxt <<'M'
<ir_version: 3, opset_import: ["ai.onnx.ml" : 2]>
g (float[N,2] x) => (float[N] y) {
    y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0],
        nodes_modes = ["LEAF"], nodes_values = [0.0], nodes_truenodeids = [0], nodes_falsenodeids = [0],
        target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [1.5]> (x)
}
M
onnxtool check --full unruled.onnxtxt
# The element type is told by the signature.
sed 's/float\[N\] y/double[N] y/' unruled.onnxtxt > unruled_double.onnxtxt
onnxtool check --full unruled_double.onnxtxt 2> /dev/null || true
cat > ruled.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[K,L] y) <float[N,2,3] z> {
    axis = Constant <value = int64[1] {2}> ()
    z = Unsqueeze(x, axis)
    y = Flatten(z)
}
M
onnxtool check --full ruled.onnxtxt
