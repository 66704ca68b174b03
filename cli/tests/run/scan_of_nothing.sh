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
# Opset 8: no elements of a batch, no batches.
cat > old.onnxtxt <<'END8'
<ir_version: 3, opset_import: ["": 8]>
g (float[b,1] start, float[b,n,2,5] x) => (last, all) {
  last, all = Scan <num_scan_inputs = 1, body = b (float[] state, float[] v) => (float[] next, float[] made) {
    made = Transpose(v)
    one = ReduceSum<keepdims = 0>(v)
    next = Add(state, one)
  }> ("", start, x)
}
END8
"$ONNXTOOL" run old.onnxtxt --random 1 --shape x=2x0x2x5 --shape start=2x1 -O0
"$ONNXTOOL" run old.onnxtxt --random 1 --shape x=0x3x2x5 --shape start=0x1 -O0
"$ONNXTOOL" shape-infer old.onnxtxt --input x=0x3x2x5 --input start=0x1 | grep -E '^(last|all) '
