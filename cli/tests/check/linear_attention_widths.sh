# The rows of LinearAttention's decay and beta have one of two lengths.
model() { # ROWS OF DECAY, ROWS OF BETA
    cat > m.onnxtxt <<END
<ir_version: 14, opset_import: ["": 27]>
g (float[1,3,8] q, float[1,3,8] k, float[1,3,8] v, float[1,3,$1] decay, float[1,3,$2] beta) => (float[1,3,8] y, float[1,4,2,2] state) {
  y, state = LinearAttention <q_num_heads = 4, kv_num_heads = 4, update_rule = "gated_delta"> (q, k, v, , decay, beta)
}
END
    "$ONNXTOOL" check --full m.onnxtxt
}
model 4 1 && model 8 4 && model 2 4
model 4 2
