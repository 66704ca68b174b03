# Sequences, maps, optionals and strings go through files of arrays and come back as what they were.
cat >make.onnx <<'END'
<ir_version: 10, opset_import: ["" : 18]>
g (float[2,3] x) => (seq(float) parts, seq(float) none, optional(float[2,3]) held, optional(float) nothing, string[2] words)
{
  parts = SplitToSequence<axis = 0, keepdims = 1>(x)
  none = SequenceEmpty<dtype = 1>()
  held = Optional(x)
  nothing = Optional<type: type_proto = float>()
  words = Constant<value_strings = ["a b", "ä"]>()
}
END
cat >take.onnx <<'END'
<ir_version: 10, opset_import: ["" : 18]>
g (seq(float) parts, seq(float) none, optional(float[2,3]) held, optional(float) nothing, string[2] words)
  => (seq(float) parts2, int64 n, float[2,3] held2, bool has, string[2] words2)
{
  parts2 = Identity(parts)
  n = SequenceLength(none)
  held2 = OptionalGetElement(held)
  has = OptionalHasElement(nothing)
  words2 = Identity(words)
}
END
cat >scores.onnx <<'END'
<ir_version: 10, opset_import: ["ai.onnx.ml" : 3]>
g (float[2,3] x) => (seq(map(int64,float)) scores) { scores = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 8, 9]>(x) }
END
echo '[[1, 2, 3], [4, 5, 6]]' >x.json
for form in npz json; do
    onnxtool run make.onnx -i x.json -q -o all.$form
    onnxtool run take.onnx -i all.$form
done
onnxtool run scores.onnx -i x.json -q -o scores.json && cat scores.json
onnxtool run take.onnx -i x.json
onnxtool run take.onnx -i scores.json
echo '{"parts[1]": [1], "none": [0]}' >hole.json
onnxtool run take.onnx -i hole.json
