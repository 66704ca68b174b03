# A body that has another number of inputs or outputs than its node, and statistics that nobody makes.
cat > m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 17]>
g (seq(float[N]) s, float[2,3,4] x, float[3] p) => (seq(float[N]) y, seq(float[N]) z, float[2,3,4] n, float[3] m) {
    y = SequenceMap <body = b (float[N] a, float[N] c) => (float[N] d) { d = Add(a, c) }> (s)
    z, w = SequenceMap <body = b2 (float[N] a) => (float[N] d) { d = Neg(a) }> (s)
    n, m, v = BatchNormalization (x, p, p, p, p)
}
M
onnxtool check --full m.onnxtxt
cat > scan8.onnxtxt <<'M'
<ir_version: 3, opset_import: ["" : 8]>
g (int64[1] lens, float[1,2] h, float[1,3,2] x) => (float[1,2] y, float[1,3,2] z) {
    y, z = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] c, float[2] e) => (float[2] d, float[2] f) {
        d = Add(a, c) f = Identity(d) }> (lens, h, x)
}
M
onnxtool check --full scan8.onnxtxt
