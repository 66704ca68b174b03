# A batch that was broken off goes on where it was, and prints what it would have printed in one go.
write() { # FILE OP
    printf '<ir_version: 8, opset_import: ["" : 13]>\nagraph (float[2] X) => (float[2] C) { C = %s(X) }\n' "$2" > "$1"
}
write good.onnxtxt Relu
write 'a bad one.onnxtxt' Rely
write third.onnxtxt Abs
printf '%s\n' good.onnxtxt 'a bad one.onnxtxt' missing.onnx third.onnxtxt > list
check() { onnxtool check -f json --files-from list "$@" 2>&1; echo "exit $?"; }
check > whole
check -j 3 --log log | cmp - whole && echo "a log changes nothing"
sed 's/"changed":"[0-9]*"/"changed":"T"/; s/"seconds":[0-9.e-]*/"seconds":S/' log | sort

# What the log has is not done again: only the missing model is tried, and what was cut off.
{ grep -v '"third' log; printf '{"schema":"onnxtool.log/1","mo'; } > part
wc -l < part
check --log part --resume | grep -v 'passed over' | cmp - whole && echo "resumed"
tail -n +4 part | grep -o '"model":"[^"]*"' | sort

# Other options, another file, another command: done again.
lines() { wc -l < log; }
onnxtool check --severity error --log log --resume good.onnxtxt; lines
onnxtool shape-infer --log log --resume good.onnxtxt > infer; lines
onnxtool shape-infer --log log --resume good.onnxtxt | cmp - infer; lines
write good.onnxtxt Ceil
touch -d 2020-01-01 good.onnxtxt
onnxtool shape-infer --log log --resume good.onnxtxt | grep -c Ceil; lines
onnxtool check --timeout 0.000001 --log log --resume third.onnxtxt --severity warning; echo "exit $?"
onnxtool check --log log --resume third.onnxtxt --severity warning

# Shards: each has its part, and their logs are that of the whole.
for i in 1 2 3; do onnxtool check -f json --files-from list --shard "$i/3" --log "shard$i" 2>&1 | grep -o '"model":"[^"]*"'; done
cat shard1 shard2 shard3 > all
check --log all --resume | diff - <(check)
onnxtool check --shard 5/9 good.onnxtxt; echo "exit $?"

# What limits or faults end is done again; so is what JSON cannot hold as it was printed.
printf '<ir_version: 8, opset_import: ["" : 13]>\nagraph (float[2] X) => (float[2] C) { C = Abs(X) }\n' > m.onnxtxt
head -c 17000000 /dev/zero | tr '\0' x > long
{ printf '<ir_version: 8, opset_import: ["" : 13]>\nagraph (float[2] X) => (float[2] '; cat long; printf ') { '; cat long; printf ' = Abs(X) }\n'; } > long.onnxtxt
onnxtool dump -f text --log large long.onnxtxt | wc -c
grep -o '"results":null' large

for wrong in '--resume good.onnxtxt' '--shard 0/3 good.onnxtxt' '--shard 4/3 good.onnxtxt' '--shard 1/2/ good.onnxtxt' '--log - good.onnxtxt' '--log none/log good.onnxtxt' '--log /dev/full good.onnxtxt'; do
    # shellcheck disable=SC2086
    onnxtool check $wrong 2>&1
    echo "exit $?"
done
onnxtool check --log third.onnxtxt good.onnxtxt 2>&1
onnxtool optimize --log log good.onnxtxt 2>&1
# A log from elsewhere may hold what a terminal obeys: the model is checked again.
onnxtool check --log foreign good.onnxtxt > /dev/null
sed -i 's/: valid/: \\u001b[31mvalid/' foreign
onnxtool check --log foreign --resume good.onnxtxt
