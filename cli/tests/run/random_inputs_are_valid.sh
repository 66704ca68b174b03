cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[N, 4] input_ids, int64[N, 4] attention_mask, bool[N] flag) => (float[N, 4, 2] y, int64[N, 4] attention_mask2, bool[N] f)
<float[3, 2] table = {0, 1, 2, 3, 4, 5}>
{ c = Identity (input_ids) y = Gather (table, c) attention_mask2 = Identity (attention_mask) f = Identity (flag) }
X
for seed in 1 2 3 4 5; do onnxtool run model.onnxtxt --random $seed --shape input_ids=50x4 --outputs y >/dev/null || echo "seed $seed"; done
onnxtool run model.onnxtxt --random 7 --shape input_ids=2x4 --shape attention_mask=2x4 --shape flag=2
# Shapes, axes, scales, places in a sequence: each input here is fit for one thing alone.
fits() {
    printf '<ir_version: 10, opset_import: ["" : 21]>\ng (%s) => (y) { %s }\n' "$1" "$2" > s.onnxtxt
    for seed in 1 2 3 4 5 6 7 8; do onnxtool run -q s.onnxtxt --random $seed 2>&1; done
}
fits 'float[2,6] x, int64[3] s' 'y = Reshape(x, s)'
fits 'float[2,6] x, int64[2] s' 'y = Expand(x, s)'
fits 'float[2,6] x, int64[2] a' 'y = Unsqueeze(x, a)'
fits 'float[1,6] x, int64[1] a' 'y = Squeeze(x, a)'
fits 'float[2,6] x, int64[2] a' 'y = ReduceSum(x, a)'
fits 'float[2,6] x, int64 a' 'y = CumSum(x, a)'
fits 'float[1,1,4,4] x, float[4] s' 'y = Resize(x, "", s)'
fits 'float[1,8,4,4] x, float[3,4] r, int64[3] i' 'y = RoiAlign(x, r, i)'
fits 'float[8,4] x, int64[2] a, int64[2] b, int64[2] c, int64[2] d' 'y = Slice(x, a, b, c, d)'
fits 'seq(float[2]) x, int64 i' 'y = SequenceAt(x, i)'
fits 'float[1,12] x, int64[1] n' 'z = Constant<value_ints=[-1]>() k = Concat<axis=0>(n, z) y = Reshape(x, k)'
