# An input that is left out between others of a variadic list is named; also one that a caller of a function leaves out.
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["": 18]>
g (float[2] a, float[2] b) => (float[4] y) { y = Concat<axis = 0>(a, "", b) }
END
"$ONNXTOOL" run m.onnxtxt --random 1
echo $?
cat > f.onnxtxt <<'END'
<ir_version: 8, opset_import: ["": 18, "f": 1]>
g (float[2] b) => (float[4] y) { y = f.join("", b) }
<domain: "f", opset_import: ["": 18]>
join (p, q) => (r) { r = Concat<axis = 0>(p, q) }
END
"$ONNXTOOL" run f.onnxtxt --random 1
echo $?
"$ONNXTOOL" run f.onnxtxt --random 1 -O0
echo $?
