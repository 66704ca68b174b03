M=$TESTDATA/models/digits.onnx
onnxtool run -O0 "$M" --random 1 -q --profile p.json && grep -c '"ph":"X"' p.json
onnxtool run -O0 "$M" --random 1 -q --profile p.folded && cut -d';' -f1 p.folded | sort | uniq -c | sed 's/^ *//'
onnxtool run -O0 "$M" --random 1 -q --profile p.txt && head -n 1 p.txt
onnxtool run "$M" --random 1 -q --profile p.xyz
onnxtool run "$M" --random 1 --oracle -f json | grep '"type"'
