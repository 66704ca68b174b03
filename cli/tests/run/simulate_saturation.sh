# Two products of 255 by 127 pass 32767: pairs stop there on AVX2 without VNNI, and give 64770 elsewhere.
cat > pairs.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (uint8[1,4] x) => (int32[1,2] y)
<int8[4,2] w = {127, 1, 127, 1, 127, 1, 127, 1}>
{ y = MatMulInteger(x, w) }
END
echo '[[255, 255, 255, 255]]' > x.json
onnxtool run pairs.onnxtxt -i x=x.json
onnxtool run pairs.onnxtxt -i x=x.json --simulate avx2-saturating
onnxtool run pairs.onnxtxt -i x=x.json --simulate avx2-saturating -O0
onnxtool run pairs.onnxtxt -i x=x.json --simulate arm
