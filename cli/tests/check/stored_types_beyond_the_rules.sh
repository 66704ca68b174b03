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
cat > ruled.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[K,L] y) <float[N,2,3] z> {
    axis = Constant <value = int64[1] {2}> ()
    z = Unsqueeze(x, axis)
    y = Flatten(z)
}
M
onnxtool check --full ruled.onnxtxt
