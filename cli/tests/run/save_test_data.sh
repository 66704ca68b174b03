cat > m.onnxtxt <<'X'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2,3] x, float[N] d, seq(float[2]) s) => (float[2,3] y, seq(float[2]) t, float[N] e) <float[N] d = {1, 2}>
{ y = Relu (x) t = Identity (s) e = Neg (d) }
X
sed -i 's/ <float\[N\] d = {1, 2}>/ <float[2] d = {1, 2}>/' m.onnxtxt
printf '<ir_version: 10, opset_import: ["" : 21]>\nh (float[2] a) => (seq(float[2]) s) { s = SequenceConstruct (a, a) }\n' > s.onnxtxt
onnxtool run s.onnxtxt --random 3 --save-test-data seq && ls seq
onnxtool run m.onnxtxt -i s=seq/output_0.pb --random 1 --save-test-data set -q && ls set
onnxtool run m.onnxtxt --test-data set && echo agrees
onnxtool run m.onnxtxt --test-data set --save-test-data again; echo "exit $?"
onnxtool run m.onnxtxt --random 1 -i s=seq/output_0.pb --save-test-data m.onnxtxt/set -q; echo "exit $?"
onnxtool run s.onnxtxt --random 3 -o s.pb && cmp s.pb seq/output_0.pb && echo same
onnxtool run m.onnxtxt -i s=s.pb --random 1 -o three.pb; echo "exit $?"
onnxtool run s.onnxtxt --random 3 -o s.png; echo "exit $?"
