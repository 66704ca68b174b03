# A model without its weights: structure, types and shapes stay, values do not.
cat >m.onnxtxt <<'MODEL'
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N,64] x, float[64,64] given, bool c) => (float[N,64] y, int64[400] z)
<float[64,64] w = ["location": "w.bin", "offset": "0"], float[64,64] given = ["location": "w.bin", "offset": "0"], float[4] small = {1, 2, 3, 4}>
{
    ["big"] k = Constant <value = float[1,300] {KKK}> ()
    a = MatMul (x, w)
    b = MatMul (a, given)
    y = If (c) <then_branch = t () => (float[N,64] u) <float[64,64] v = ["location": "w.bin", "offset": "0"]> { u = MatMul (b, v) },
                else_branch = e () => (float[N,64] u) { u = local.double (b) }>
    z = Constant <value = int64[400] {ZZZ}> ()
}
<domain: "local", opset_import: ["" : 21]>
double (p) => (q) { f = Constant <value = float[64,64] {FFF}> () q = MatMul (p, f) }
MODEL
head -c 16384 /dev/zero | tr '\0' '\100' >w.bin # 3.0039..., a float of bytes 40
repeat() { yes -- "$1" | head -n "$2" | paste -sd,; }
sed -i "s/KKK/$(repeat 1.5 300)/; s/ZZZ/$(repeat 7 400)/; s/FFF/$(repeat -2 4096)/" m.onnxtxt
onnxtool external-data strip m.onnxtxt -o out.onnx
onnxtool check --full out.onnx
onnxtool dump -f text out.onnx | sed '1,/^g/d' | grep -v '^ *<'
onnxtool run out.onnx --random 1  --outputs y -f json >/dev/null && echo runs
for f in m.onnxtxt out.onnx; do onnxtool run $f --fill x=1 --fill given=1 --random 1 --shape x=1x64  --outputs y -o $f.npy >/dev/null; done
cmp m.onnxtxt.npy out.onnx.npy && echo constant weights give the same
onnxtool external-data strip m.onnxtxt -o all.onnx --threshold 1
onnxtool external-data strip -q m.onnxtxt -o all.onnx --threshold 1
onnxtool external-data strip m.onnxtxt
echo "exit $?"
sed '1s/: 21/: 8/' m.onnxtxt >old.onnxtxt
onnxtool external-data strip old.onnxtxt -o old.onnx
rm w.bin
onnxtool external-data strip m.onnxtxt -o gone.onnx
echo "exit $?"
ls gone.onnx 2>/dev/null
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { a = Constant <value = float[4] {1,2}> () y = Add(x, a) }\n' >short.onnxtxt
onnxtool external-data strip short.onnxtxt --threshold 4 -o gone.onnx
