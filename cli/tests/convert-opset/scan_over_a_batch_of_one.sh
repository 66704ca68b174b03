# Scan of opset 8 has a batch axis: of one it is the same work; more, and outputs stacked from the end, are told.
scan() {
    cat <<M
<ir_version: 4, opset_import: ["" : $1]> g ($2) => (float[$3] t, float[$4] u)
{ t, u = Scan<num_scan_inputs = 1, $5, body = b (float[3] p, float[3] q) => (float[3] p2, float[3] q2)
  { p2 = Add(p, q) q2 = Mul(p2, q) }> ($6) }
M
}
convert() {
    onnxtool convert-opset m.txt --to "$1" -o out.onnx && onnxtool check --full out.onnx
    echo "exit $?"
}
scan 9 'float[3] s, float[3,4] a' 3 3,4 'scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [1]' 's, a' >m.txt
convert 8
onnxtool dump out.onnx -f text | grep -c Transpose
cp out.onnx m.txt
convert 9
scan 8 'float[1,3] s, float[1,4,3] a, int64[1] n' 1,3 1,4,3 'directions = [1]' 'n, s, a' >m.txt
convert 9
scan 8 'float[2,3] s, float[2,4,3] a' 2,3 2,4,3 'directions = [1]' '"", s, a' >m.txt
convert 9
scan 8 'float[N,3] s, float[N,4,3] a' N,3 N,4,3 'directions = [0]' '"", s, a' >m.txt
convert 9
scan 9 'float[3] s, float[4,3] a' 3 4,3 'scan_output_directions = [1]' 's, a' >m.txt
convert 8
