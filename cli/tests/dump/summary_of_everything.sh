cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21, "my.domain" : 1], producer_name: "hand", producer_version: "1.0", domain: "org.example",
 model_version: 7, doc_string: "what it does", metadata_props: ["author": "a\nb", "license": "none"]>
everything (float[N,3,8,8] x, bool c, seq(float) s, float[2] d = {1, 2}) => (float[N,4,6,6] y, float[?] z)
<float[4,3,3,3] w, int64[2] shape = {1, 2}, int8[2,2] q = {1, 2, 3, 4}>
{
   [conv] a = Conv (x, w)
   y = my.domain.twice (a)
   z = If (c) <then_branch = yes () => (t) { k = Constant <value = float[3] {1, 2, 3}> () t = Identity(k) },
               else_branch = no () => (e) { e = custom.Op (a) }>
}
<domain: "my.domain", opset_import: ["" : 21]>
twice (p) => (r) { two = Constant <value = float {2}> () r = Mul (p, two) }
X
sed -i 's/, float\[2\] d = {1, 2}//; s/<float\[4,3,3,3\] w,/<float[4,3,3,3] w = {},/' m.onnxtxt
onnxtool dump m.onnxtxt
echo
onnxtool dump --input x=2x3x8x8 m.onnxtxt | grep -E 'inputs|compute|memory'
