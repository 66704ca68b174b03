cp "$TESTDATA/models/digits.onnx" .
# Times differ from run to run: what is held against is written by hand, a thousand times slower and faster.
was() { printf '{"schema":"onnxtool.run/1","outputs":[{"median_ms":7}],"timing":{"median_ms":%s,"median_low_ms":%s,"median_high_ms":%s,"threads":1,"more":[{"median_ms":3}]},"memory":{}}\n' "$@"; }
was 10000 9000 11000 > slow.json
was 1e-6 0.9e-6 1.1e-6 > fast.json
was 1e-6 1e-7 1e9 > unsure.json
bench() { onnxtool run digits.onnx --random 1 -t 1 --repeat 6 "$@" > out 2> err; echo "exit $?"; sed "s/[0-9.]* from [-0-9.e+]* to [-0-9.e+]*/T/;s/is [0-9.]* ms.*)/is T ms/;s/is [0-9.]* of/is T of/;s/[0-9.]* is allowed/T is allowed/" err; }
bench --baseline slow.json
bench --baseline fast.json
bench --baseline unsure.json
bench --baseline fast.json --max-slower 1e12
bench --baseline fast.json -t 2 --max-slower 1e12
bench --baseline none.json
bench --baseline digits.onnx
bench --baseline fast.json --repeat 5
bench --baseline fast.json --max-slower -1
echo '{"timing":{"median_ms":1}}' > old.json
bench --baseline old.json
# What -f json prints is what is read, and its fields are these.
onnxtool run digits.onnx --random 1 -t 1 --repeat 20 -f json > now.json
bench --baseline now.json --max-slower 1e6
onnxtool run digits.onnx --random 1 -t 1 --repeat 6 --baseline fast.json -f json 2> err | sed -n '/"timing"/,$s/[-0-9.e]*[0-9],*$/N/p'
onnxtool run digits.onnx --random 1 -t 1 --repeat 6 --baseline fast.json 2> err | grep -c '^against fast.json: median '
# Of fewer runs nobody knows where the median lies.
onnxtool run digits.onnx --random 1 -t 1 --repeat 5 -f json | grep -c null
