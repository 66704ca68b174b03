cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[N, 4] input_ids, int64[N, 4] attention_mask, bool[N] flag) => (float[N, 4, 2] y, int64[N, 4] attention_mask2, bool[N] f)
<float[3, 2] table = {0, 1, 2, 3, 4, 5}>
{ c = Identity (input_ids) y = Gather (table, c) attention_mask2 = Identity (attention_mask) f = Identity (flag) }
X
for seed in 1 2 3 4 5; do onnxtool run model.onnxtxt --random $seed --shape input_ids=50x4 --outputs y >/dev/null || echo "seed $seed"; done
onnxtool run model.onnxtxt --random 7 --shape input_ids=2x4 --shape attention_mask=2x4 --shape flag=2
