cat > model.onnxtxt <<'X'
<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]>
g (float[2] X) => (float[2] Y) { A = my.ops.Fancy (X) [n] B = my.ops.Fancy (A) C = Relux (B) Y = Relu (C) }
X
onnxtool run model.onnxtxt --random 1
