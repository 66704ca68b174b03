cat > m.txt <<END
<ir_version: 8, opset_import: ["" : 17, "f" : 1], metadata_props: ["author": "me", "date": "today"]>
g (float[unk__1,3] "in put", bool c) => (float[unk__1,3] out, float["2*unk__1",3] both) <float[3] w = {1,2,3}, float[unk__1,3] t> {
  [first] t = Add("in put", w)
  [choice] out = If(c) <then_branch = th () => (float[unk__1,3] p) { [first] p = f.Double(t) },
                        else_branch = el () => (float[unk__1,3] q) { q = Identity("in put") }>
  both = Concat<axis = 0>(t, t)
}
<domain: "f", opset_import: ["" : 17]> Double (w) => (out) { out = Add(w, w) }
END
edit() { onnxtool edit m.txt "$@" -o o.txt && cat o.txt && onnxtool check --full o.txt; }
edit --rename 'in put=image' --rename out=logits --rename-dim unk__1=batch --rename-node first=add --metadata author=you --metadata date= --metadata note=x=y
# Exchanged, and what would be the same.
edit --rename out=both --rename both=out -f json
fail() { onnxtool edit m.txt "$@" -o no.txt; echo "exit $?"; }
fail --rename out=both 2>&1
fail --rename nothing=x 2>&1
fail --rename t= 2>&1
fail --rename-node first=choice 2>&1
fail --rename-dim nothing=x 2>&1
fail --rename-dim unk__1=7 2>&1
fail --rename out=x --rename out=y 2>&1
fail --rename out 2>&1
onnxtool edit m.txt 2>&1
echo "exit $?"
edit --prefix p/ --rename out=kept --ir-version 9
ls
