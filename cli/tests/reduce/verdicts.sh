# What counts as a failure, and what ends the search.
cat > g.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) c = Sin(b) d = Cos(c) y = Abs(d) }
END
say() { "$@" 2>&1; echo "= $?"; }
reduce() { say "$ONNXTOOL" reduce g.onnxtxt -o small.onnxtxt "$@"; }
has='onnxtool dump -f text "$1" | grep -q'
reduce -- sh -c 'echo all is well' sh
reduce --fail-code 7 -- sh -c "! $has Sin" sh {}
reduce --fail-code 1,9 -- sh -c "! $has Sin" sh {}
reduce --fail-code same -- sh -c "$has Exp || exit 4; $has Sin && exit 5" sh {}
reduce --fail-code same --check-output log -- sh -c "echo look; $has Sin && kill -TERM \$\$" sh {}
cat log
reduce --fail-regex '^Sin is h.re$' -- sh -c "$has Sin && echo Sin is here; exit 0" sh {}
reduce --fail-regex 'here' --fail-code 2 -- sh -c "$has Sin && echo here; exit 0" sh {}
reduce --fail-code timeout --check-timeout 3 -- sh -c "$has Sin && sleep 20" sh {}
reduce --check-timeout 0.2 -- sh -c "sleep 20"
reduce --max-checks 2 -- sh -c "! $has Sin" sh {}
reduce --timeout 1 -- sh -c "sleep 20" sh {}
reduce -- ./is-not-there {}
reduce -- sh -c './is-not-there "$1"' sh {}
reduce --fail-code x -- true
reduce --fail-regex '(' -- true
reduce
say "$ONNXTOOL" reduce g.onnxtxt true
# An end from outside keeps what there is.
rm -f small.onnxtxt
touch count
mkdir t
TMPDIR=$PWD/t "$ONNXTOOL" reduce g.onnxtxt -o small.onnxtxt -- sh -c "echo >> count; [ \$(wc -l < count) -lt 3 ] || sleep 20; ! $has Sin" sh {} 2>&1 &
while [ "$(wc -l < count)" -lt 3 ]; do sleep 0.05; done
kill -TERM $!
wait $!
echo "= $?"
"$ONNXTOOL" dump -f nodes small.onnxtxt | grep -c Sin
ls t
