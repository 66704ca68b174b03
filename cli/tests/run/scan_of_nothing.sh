# A Scan over no elements: a trip on zeros tells the shapes that its body does not declare.
cat > m.onnxtxt <<'END'
<ir_version: 10, opset_import: ["": 21]>
g (float[3] start, float[n,2,5] x) => (last, all) {
  last, all = Scan <num_scan_inputs = 1, body = b (float[] state, float[] v) => (float[] next, float[] made) {
    made = Transpose(v)
    one = ReduceSum<keepdims = 0>(v)
    next = Add(state, one)
  }> (start, x)
}
END
"$ONNXTOOL" run m.onnxtxt --random 1 --shape x=0x2x5 --shape start=3 -O0
"$ONNXTOOL" run m.onnxtxt --random 1 --shape x=0x2x5 --shape start=3
"$ONNXTOOL" shape-infer m.onnxtxt --input x=0x2x5 | grep -E '^(last|all) '
