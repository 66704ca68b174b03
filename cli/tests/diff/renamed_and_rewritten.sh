cat > a.txt <<'END'
<ir_version: 10, opset_import: ["" : 18]>
net (float[N,4] x, bool go) => (float[N,4] y) < float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float[4] b = {1,2,3,4} > {
  [first] h = MatMul(x, w)
  [left] p = Add(h, b)
  [right] q = Mul(h, b)
  [choose] y = If(go) <then_branch = t () => (r) { [in] r = Add(p, q) }, else_branch = e () => (s) { [out] s = Sub(p, b) }>
}
END
sed -E 's/\b(x|go|y|w|b|h|p|q|r|s|first|left|right|choose|in|out|net|N)\b/\1_0/g; s/_0_import/_import/' a.txt > b.txt
echo "with names:"
onnxtool diff a.txt b.txt --brief -q
echo "without: $(onnxtool diff --ignore names a.txt b.txt && echo equal)"
# Nodes in another order, another encoding, weights in another file.
sed -E '/\[left\]/{h;d};/\[right\]/{G}' a.txt > c.txt
onnxtool diff a.txt c.txt && echo equal
onnxtool dump -f json a.txt > a.json
onnxtool diff a.txt a.json && echo equal
onnxtool diff --ignore 'weights<0.1' a.txt a.json && echo equal
sed 's/{1,2,3,4}/{1,2,3,4.05}/' a.txt > d.txt
onnxtool diff --ignore 'weights<0.1' a.txt d.txt && echo equal
onnxtool diff a.txt d.txt -f json
onnxtool diff --ignore colours a.txt d.txt
