# What a terminal would obey, and bytes that are no text, stand as \xHH in text, which is read back as it was.
cat > m.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21], doc_string: "two
lines	and \x1B]0;title\x07, \xC2\x9B31m, \xE2\x80\xAE, \\x1B, \x1b, \xG1">
"\x1B[2Jg" (float[2] "x\x0D") => (float[2] "y\x7F") <string[3] words = {"\x00\xFF", "ü€", "\x41\\\""}>
{
   "y\x7F" = Relu ("x\x0D")
   w = Identity (words)
}
M
onnxtool dump -f text m.onnxtxt | tee again.onnxtxt
onnxtool dump -f text again.onnxtxt | cmp - again.onnxtxt && echo same
onnxtool dump -f json m.onnxtxt > m.json
onnxtool dump -f text m.json | cmp - again.onnxtxt && echo same
grep -o '"docString": .*' m.json
onnxtool dump --tensor words --json m.onnxtxt | tr -d '\n '; echo
# Without elements there may be any number of lists.
cat > lists.onnxtxt <<'M'
<ir_version: 10, opset_import: ["" : 21]>
g () => (a, b, c)
{
   s = Constant <value_ints = [2, 3, 0, 4]> ()
   a = ConstantOfShape (s)
   t = Constant <value_ints = [65536, 65536, 0]> ()
   b = ConstantOfShape (t)
   u = Constant <value_ints = [0, 4294967296]> ()
   c = ConstantOfShape (u)
}
M
onnxtool run --timeout 20 lists.onnxtxt
sed 's/65536, 0/65537, 0/' lists.onnxtxt > more.onnxtxt
onnxtool run more.onnxtxt 2>&1
echo "exit $?"
