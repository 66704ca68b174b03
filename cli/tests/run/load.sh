# Runs for a time, and several at a time: as many as were asked for, of the same results.
cp "$TESTDATA/models/digits.onnx" .
timing() { sed -n '/"timing"/,/}/{/ms"/d;/per_second/d;p}'; }
shape() { sed 's/[0-9][0-9.]* \(ms\|MB\|a second\)/N \1/g;s/\(min\|median\|mean\|p[0-9.]*\) [0-9.]*/\1 N/g'; }
onnxtool run digits.onnx --random 1 -t 1 -o one.npy
onnxtool run digits.onnx --random 1 -t 1 --repeat 7 --concurrency 3 -o three.npy -f json | timing
cmp one.npy three.npy
onnxtool run digits.onnx --random 1 -t 1 --repeat 2 --concurrency 5 -o five.npy | shape
onnxtool run digits.onnx --random 1 --duration 0.2 -t 1 -o one.npy | shape | sed 's/; [0-9]* runs/; N runs/'
# At least one in each process; those of the time that is asked for, in seconds.
onnxtool run digits.onnx --random 1 --duration 1e-9 --concurrency 3 -t 1 -f json | timing | grep repeat
onnxtool run digits.onnx --random 1 --duration 1 --concurrency 2 -t 1 -f json > load.json
sed -n 's/.*"\(repeat\|per_second\)": *\([0-9.]*\).*/\2/p' load.json | { read -r rate && read -r n && awk "BEGIN { s = $n / $rate; print (s > 0.9 && s < 30) ? \"a second\" : s }"; }
onnxtool run digits.onnx --random 1 --duration 0.5 -t 1 --baseline load.json --max-slower 1e6 > text && grep -c '^against load.json' text
refuse() { onnxtool run digits.onnx --random 1 "$@" 2>&1; echo "exit $?"; }
refuse --concurrency 2
refuse --duration 1 --repeat 3
refuse --duration -1
refuse --repeat 3 --concurrency 0
refuse --repeat 3 --concurrency 2 --profile p.json
onnxtool run digits.onnx --random 1 --duration 1e-9 -t 1 --baseline load.json 2>&1 > text
echo "exit $?"
