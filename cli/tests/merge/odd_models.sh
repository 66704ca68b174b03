# Nothing but an input that is the output, on either side and on both.
echo '<ir_version: 8, opset_import: ["" : 17]> pass (float[2] "a b") => (float[2] "a b") {}' > pass.txt
echo '<ir_version: 8, opset_import: ["" : 17]> neg (float[2] x) => (float[2] y) { y = Neg(x) }' > neg.txt
onnxtool merge pass.txt neg.txt -o pn.txt && cat pn.txt && onnxtool check --full pn.txt
onnxtool merge neg.txt pass.txt -o np.txt && cat np.txt && onnxtool check --full np.txt
onnxtool merge pass.txt pass.txt --prefix2 2/ -o pp.txt && cat pp.txt && onnxtool check --full pp.txt
# The same model twice: what is inside gets other names, the output stays.
onnxtool merge neg.txt neg.txt --map y=x -o nn.txt && cat nn.txt
# One output for two inputs; a default gives way to what is fed.
cat > two.txt <<END
<ir_version: 8, opset_import: ["" : 17]> two (float[2] p, float[2] q) => (float[2] z) <float[2] q = {5,6}> { z = Sub(p, q) }
END
onnxtool merge neg.txt two.txt --map y=p --map y=q -o two.onnx && onnxtool dump -f text two.onnx
# Old files list constants among the inputs.
cat > old.txt <<END
<ir_version: 3, opset_import: ["" : 17]> old (float[2] p, float[2] w) => (float[2] y) <float[2] w = {5,6}> { y = Sub(p, w) }
END
onnxtool merge old.txt neg.txt -o old.onnx && onnxtool dump -f text old.onnx
# A name that is taken already for what gets another.
cat > taken.txt <<END
<ir_version: 8, opset_import: ["" : 17]> t (float[2] x) => (float[2] y) { t = Neg(x) "b/t" = Neg(t) y = Neg("b/t") }
END
onnxtool merge taken.txt taken.txt --map y=x -o taken.onnx && onnxtool dump -f text taken.onnx
