cat > a.txt <<END
<ir_version: 8, opset_import: ["" : 12, "own" : 1]> a (float[batch,4] x) => (float[batch,4] h, float[batch,4] side) {
  s = Softmax(x)
  d = Dropout(s)
  h = Relu(d)
  side = own.Op(s)
}
END
cat > b.txt <<END
<ir_version: 8, opset_import: ["" : 13, "own" : 2]> b (int64[n,4] h, float[5,n,4] z, float[n,3] side) => (float[n,4] x) {
  f = Cast<to = 1>(h)
  x = Relu(f)
}
END
try() { echo "$*"; onnxtool merge "$@" -o c.onnx 2>&1; echo "exit $?"; }
try a.txt b.txt
try a.txt b.txt --map h=z --map side=z --map nothing=z --map h=nowhere
try a.txt a.txt
try a.txt b.txt --apart --shared nobody
try a.txt
try a.txt b.txt --map h
try - -
onnxtool merge a.txt b.txt -f json -o c.onnx 2> /dev/null
echo "exit $?"
onnxtool merge a.txt b.txt; echo "exit $?"
ls
