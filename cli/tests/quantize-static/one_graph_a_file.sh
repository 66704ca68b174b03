# Arrays of a file that have not the same number of rows are one sample together: the nodes and the edges of a graph.
cat > made.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g () => (float[3,2] x, int64[2,4] edges) {
    x = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> ()
    edges = Constant <value = int64[2,4] {0, 1, 2, 2, 1, 2, 0, 1}> ()
}
M
cat > m.onnxtxt <<'M'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,2] x, int64[2,m] edges) => (float[m,2] y) <float[2,2] w = {1, -1, 0.5, 2}, int64 first = {0}> {
    h = MatMul(x, w)
    from = Gather <axis = 0> (edges, first)
    y = Gather <axis = 0> (h, from)
}
M
mkdir cal
onnxtool run made.onnxtxt -o cal/s.npz
onnxtool quantize-static --per-tensor m.onnxtxt --calibration cal -o q.onnx 2> log || cat log
onnxtool run -i cal/s.npz q.onnx
