# What the shape rules of single operators refuse, as onnx's own checker does: one line a node.
refuse() { # OPSET, GRAPH
    printf '<ir_version: 10, opset_import: ["": %s]>\n%s\n' "$1" "$2" > m.onnxtxt
    "$ONNXTOOL" check --full m.onnxtxt 2> said | grep ': error:' || { cat said; echo "accepted: $2"; }
}
conv() { refuse 22 "g (float[1,4,7,7] x, float[4,2,3,3] w) => (int64 n) { y = $1 (x, w) n = Size (y) }"; }
for list in 'strides = [0,1]' 'pads = [0,0,-1,0]' 'pads = [1]' 'dilations = [1,-1]' 'output_padding = [0,-1]' 'output_shape = [9]' \
    'output_shape = [1,4,9,9]' 'kernel_shape = [3]' 'kernel_shape = [2,3]' 'group = 0' 'group = 3' 'auto_pad = "VALID", pads = [1,1,1,1]'; do
    conv "ConvTranspose <$list>"
done
for list in 'strides: ints = []' 'pads: ints = []' 'kernel_shape: ints = []'; do conv "Conv <group = 2, $list>"; done
refuse 22 'g (float[1,1,7,7] x) => (int64 n) { y = MaxPool <kernel_shape = [3,3], dilations: ints = []> (x) n = Size (y) }'
refuse 22 'g (float[1,1] x, int64[1,1] at) => (int64 n) { y = MaxUnpool <kernel_shape = [2,2]> (x, at) n = Size (y) }'
refuse 22 'g (float[1,1,2,2] x, int64[1,1,2,2] at, int64[3] s) => (int64 n) { y = MaxUnpool <kernel_shape = [2,2]> (x, at, s) n = Size (y) }'
refuse 22 'g (float[1,1,2,2] x, int64[1,1,2,2] at, int64[4] s) => (int64 n) { y = MaxUnpool <kernel_shape = [2]> (x, at, s) n = Size (y) }'
refuse 22 'g (float x) => (int64 n) { y = ArgMax <axis = 0> (x) n = Size (y) }'
refuse 22 'g (float x, bool[2] keep) => (int64 n) { y = Compress (x, keep) n = Size (y) }'
refuse 22 'g (float[2,1] x, int64 shape) => (int64 n) { y = Expand (x, shape) n = Size (y) }'
refuse 22 'g (float[2,2,3] x, int64[6] size) => (int64 n) { y = AffineGrid (x, size) n = Size (y) }'
refuse 22 'g (float[1,8,2] x) => (int64 n) { y = DFT <onesided = 1> (x) n = Size (y) }'
refuse 22 'g (float[1,8,1] x) => (int64 n) { y = DFT <onesided = 1, inverse = 1> (x) n = Size (y) }'
refuse 22 'g (float[1,5,5] x, int64[2] image) => (int64 n) <int64[2] block = {1, 0}> { y = Col2Im (x, image, block) n = Size (y) }'
refuse 22 'g () => (int64 n) <int64 size = {0}> { y = HannWindow (size) n = Size (y) }'
refuse 22 'g () => (int64 n) { y = Constant () n = Size (y) }'
refuse 23 'g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[2,3,4] past) => (int64 n) { y = Attention (q, k, v, , past, past) n = Size (y) }'
refuse 27 'g (float[1,2,8] x, float[2,3,4] w, float[1,2,3] past) => (int64 n) { y, s = CausalConvWithState (x, w, , past) n = Size (y) }'
refuse 27 'g (float[1,2,8] x, float[2,1,4] w, float[1,2,2] past) => (int64 n) { y, s = CausalConvWithState (x, w, , past) n = Size (y) }'
refuse 27 'g (float[1,3,8] q, float[1,3,8] k, float[1,3,8] v) => (int64 n) { y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 4, update_rule = "delta"> (q, k, v) n = Size (y) }'
refuse 27 'g (float[1,3,8] q, float[1,3,4] k, float[1,3,8] v) => (int64 n) { y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 4, update_rule = "linear"> (q, k, v) n = Size (y) }'
