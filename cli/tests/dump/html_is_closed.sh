# No text of a model becomes markup or script, and the page's own script is the one that its policy names.
cat > m.json <<'X'
{"irVersion": "8", "opsetImport": [{"version": "13"}], "producerName": "</script><script>alert(0)</script>", "graph": {"name": "<!--",
 "node": [{"name": "</script><script>alert(1)</script>", "opType": "Relu", "input": ["<img src=x onerror=alert(2)>"], "output": ["y'\"><b>"],
   "docString": "<!--<script>", "attribute": [{"name": "]]>", "type": "STRING", "s": "PC9zY3JpcHQ+"}]}],
 "initializer": [{"name": "<img src=x onerror=alert(2)>", "dims": ["4"], "dataType": 1, "floatData": [1, 2, 2, "NaN"]}],
 "output": [{"name": "y'\"><b>"}]}, "metadataProps": [{"key": "\u2028", "value": "</style>"}]}
X
cp m.json '<script>x.json'
onnxtool dump -f html m.json > page.html
onnxtool dump -f html '<script>x.json' | grep -c '<script>x'
grep -o '<[/!a-z][^ >]*' page.html | sort | uniq -c | sort -k2
sed -n '/<script type=/{s/.*id="data">//;s/<.script>.*//;p}' page.html | head -n 1
policy=$(sed -n "s/.*script-src 'sha256-\([^']*\)'.*/\1/p" page.html)
script=$(sed -n '/^<script>/,$p' page.html | sed '1s/^<script>//; $s/<.script><.body><.html>$//'; echo .)
hash=$(printf '%s' "${script%?.}" | sha256sum | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)
[ "$hash" = "$policy" ] && echo "policy holds" || echo "policy $policy, script $hash"
