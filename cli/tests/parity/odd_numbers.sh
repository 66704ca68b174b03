# Types that doubles do not hold, and numbers that are none.
model() { printf '<ir_version: 11, opset_import: ["" : 23]>\n%s\n' "$2" >"$1.onnx"; }
types="bool[2] b, uint64[2] u, float8e4m3fn[2] f, bfloat16[2] h, string[2] s"
model a "g (float[2] x) => ($types) <uint64[2] big = {18446744073709551615, 3}, float low = {0.1}, float by = {1}, string[2] words = {\"日本é\", \"b\"}>
{ b = Greater(x, low) u = Identity(big) t = Mul(x, by) f = Cast<to = 17>(t) h = Cast<to = 16>(t) s = Identity(words) }"
model b "g (float[2] x) => ($types) <uint64[2] big = {18446744073709551614, 3}, float low = {0.6}, float by = {1.1}, string[2] words = {\"日本e\", \"b\"}>
{ b = Greater(x, low) u = Identity(big) t = Mul(x, by) f = Cast<to = 17>(t) h = Cast<to = 16>(t) s = Identity(words) }"
printf '{"x": [0.5, -1]}' >x.json
"$ONNXTOOL" parity a.onnx b.onnx -i x.json --metric 2>/dev/null
"$ONNXTOOL" parity a.onnx b.onnx -i x.json -f json 2>/dev/null | grep -o '"worst":{[^}]*}'
"$ONNXTOOL" parity a.onnx b.onnx -i x.json --require 'ulp_max<=3,top1>=1' 2>/dev/null | grep required
model c "g (complex64[2] x) => (complex64[2] y) { y = Identity(x) }"
printf '{"x": {"dtype": "complex64", "shape": [2], "data": [[1, 2], [3, -1]]}}' >c.json
printf '{"y": {"dtype": "complex64", "shape": [2], "data": [[1, 2], [3, -1.5]]}}' >d.json
"$ONNXTOOL" parity c.onnx --expected d.json -i c.json -f json 2>/dev/null | grep -o '"worst":{[^}]*}'
model n "g (float[2] x) => (float[2] y) { y = Sqrt(x) }"
printf '{"x": [-1, -2]}' >n.json
"$ONNXTOOL" parity n.onnx n.onnx -i n.json --bisect --oracle --metric 2>/dev/null
"$ONNXTOOL" parity n.onnx n.onnx -i n.json --equal-nan -q
