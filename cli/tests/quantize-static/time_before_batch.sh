# An array of an input's own rank is one sample where an LSTM goes along the first dimension, or that is called so; else its rows
# are samples, and where that may be wrong it is said.
model() {
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]> g (float[$1,4] x) => (float[$1,4] y)
<float[4,4] a = {1, 0.3, 0, 0, 0, 1, 0.1, 0, 0, 0.7, 1, 0, 0.2, 0, 0, 1}, float[1,16,4] w = {$(seq -s, 0.01 0.01 0.64)}, float[1,16,4] r = {$(seq -s, 0.64 -0.01 0.01)}>
{ h = MatMul (x, a) $2 }
MODEL
}
recurrent='l, y0, c0 = LSTM <hidden_size = 4> (x, w, r) ax = Constant <value = int64[1] {1}> () s = Squeeze (l, ax) y = Add (s, h)'
swapped='q = Transpose <perm = [1, 0, 2]> (x) l, y0, c0 = LSTM <hidden_size = 4> (q, w, r) ax = Constant <value = int64[1] {1}> () s = Squeeze (l, ax) p = Transpose <perm = [1, 0, 2]> (s) y = Add (p, h)'
model 'N,N' 'y = Relu (h)' >draw.txt && onnxtool run draw.txt --random 1 --shape x=6x6x4 --save-test-data set -q
onnxtool run draw.txt --test-data set --all --outputs x -o x.npz -q 2>/dev/null || onnxtool run draw.txt --random 1 --shape x=6x6x4 --outputs x -o x.npz -q
samples() {
    onnxtool quantize-static m.txt --calibrate-only --table t.json --calibration x.npz && tr '{' '\n' <t.json | grep -oE '"name":"h","samples":[0-9]+'
}
echo "--- an LSTM goes along the first" && model 'A,B' "$recurrent" >m.txt && samples
echo "--- an LSTM goes along the second" && model 'A,B' "$swapped" >m.txt && samples
echo "--- called a sequence" && model 'seq_len,B' 'y = Relu (h)' >m.txt && samples
echo "--- called a batch" && model 'batch,seq_len' 'y = Relu (h)' >m.txt && samples
echo "--- fixed, as many" && model '6,6' 'y = Relu (h)' >m.txt && samples
echo "--- fixed, fewer" && model '2,6' 'y = Relu (h)' >m.txt && samples
echo "--- nobody knows" && model 'A,B' 'y = Relu (h)' >m.txt && samples
# The same where a convolution or a pool slides along it.
picture='u0 = Constant <value = int64[1] {0}> () u1 = Constant <value = int64[1] {-1}> () p = Unsqueeze (h, u1) q = Unsqueeze (p, u0) r = Transpose <perm = [0, 3, 1, 2]> (q) k = Constant <value = float[1,1,3,1] {1, 2, 1}> ()'
back='f = Constant <value = int64[2] {0, 1}> () y = Squeeze (c, f)'
rows='u1 = Constant <value = int64[1] {1}> () r = Unsqueeze (x, u1) k = Constant <value = float[1,1,3] {1, 2, 1}> () c = Conv <pads = [1, 1]> (r, k) s = Squeeze (c, u1) y = Add (s, h)'
echo "--- a convolution goes along the first" && model 'A,B' "$picture c = Conv <pads = [1, 0, 1, 0]> (r, k) $back" | sed 's/\[A,B,4\]/[A,4]/g' >m.txt
onnxtool run m.txt --random 1 --shape x=6x4 --outputs x -o x.npz -q && samples
echo "--- a pool does" && model 'A,B' "$picture c = AveragePool <kernel_shape = [3, 1], pads = [1, 0, 1, 0]> (r) $back" | sed 's/\[A,B,4\]/[A,4]/g' >m.txt && samples
echo "--- of one place" && model 'A,B' "$picture c = MaxPool <kernel_shape = [1, 3], pads = [0, 1, 0, 1]> (r) $back" | sed 's/\[A,B,4\]/[A,4]/g' >m.txt && samples
echo "--- a convolution goes along the second" && model 'A,B' "$rows" | sed 's/\[A,B,4\]/[A,B]/g' >m.txt && samples
