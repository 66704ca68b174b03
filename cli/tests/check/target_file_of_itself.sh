# A file's `rest` is a runtime that is known, not a file: one that named itself would never end.
printf 'target own 1.0 cpu\nrest ./self.target\n' > self.target
printf '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }' > m.onnxtxt
onnxtool check --target ./self.target m.onnxtxt
