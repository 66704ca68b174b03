cat > m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2,3] x, int64[2] i) => (y, seq(float[2,3]) s, h, p, names, none, scalar, flags)
<float[2,3] w = {1, -2, 3, 0, 0, 4}, float[2] limits = {1, 0}, float[0] none_ = {}, string[2] words = {"a", "b\n"}, float half = {0.5}>
{
   q = Reciprocal (limits)
   y = Mul (x, w)
   s = SequenceConstruct (x, y)
   h = Cast <to = 10> (q)
   p = Cast <to = 22> (i)
   names = Identity (words)
   none = Identity (none_)
   scalar = Identity (half)
   flags = Cast <to = 9> (i)
}
M
printf '[[1,2,3],[4,5,6]]' > x.json
printf '[0,-7]' > i.json
onnxtool run -i x=x.json -i i=i.json --save-test-data test_data_set_0 -o outputs.npz m.onnxtxt
onnxtool run -i x=x.json -i i=i.json -o outputs.json m.onnxtxt
onnxtool dump --tensor h outputs.npz -o outputs.safetensors
onnxtool dump outputs.npz
echo; onnxtool dump test_data_set_0
echo; onnxtool dump x.json
echo; onnxtool dump --json --histogram test_data_set_0/output_0.pb
echo; onnxtool dump --values outputs.npz
echo; onnxtool dump --tensor y --histogram --weights none outputs.npz
echo; onnxtool dump test_data_set_0 --tensor 's[1]' --weights none --graph output_1.pb
echo; onnxtool dump --tensor y outputs.npz -o y.npy && onnxtool dump --data --values - < y.npy
echo; onnxtool dump --weights none y.npy x.json outputs.safetensors outputs.json
echo; onnxtool dump -f tensors --histogram --values m.onnxtxt | head -n 14
