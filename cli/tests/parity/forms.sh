# A page that is one file, and names that must not become markup or terminal codes in any form.
printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[2,3] x) => (float[2,3] "<script>alert(1)</script>") { ["a&b"] mid = Tanh(x) [last] "<script>alert(1)</script>" = Mul(mid, mid) }\n' >a.onnx
sed 's/Mul(mid, mid)/Add(mid, mid)/' a.onnx >b.onnx
"$ONNXTOOL" parity a.onnx b.onnx --random 1 -O0 --bisect -f html -o page.html 2>/dev/null
echo "exit $?"
grep -c '<svg ' page.html
grep -c '<rect ' page.html
grep -c '<script' page.html
grep -o '<h2>First divergence[^/]*' page.html
grep -o 'src=\|href=' page.html | sort | uniq -c
for form in text junit json; do "$ONNXTOOL" parity a.onnx b.onnx --random 1 -O0 --bisect -f $form 2>/dev/null | grep -c '&lt;script\|<script'; done
