# A .pb or .json file is a model or test data by what is in it.
printf '<ir_version: 8, producer_name: "p", opset_import: ["" : 13]>\ng (float[1] x) => (y) { y = Relu (x) }\n' > m.onnxtxt
onnxtool dump -f json m.onnxtxt > m.json
onnxtool edit m.onnxtxt -o m.pb > edited 2>&1
show() { echo "== $*"; onnxtool dump --weights none "$@" 2>&1 | head -n 3; echo "exit ${PIPESTATUS[0]}"; }
show -f nodes m.json
show -f nodes m.pb
show --data m.pb
printf '\x10\x03\x2a\x01\x10' > int8_scalar.pb;                        show int8_scalar.pb
printf '\x10\x03\x2a\x09\x10\x01\x1a\x05\x10\x06\x2a\x01\x07' > sequences.pb; show sequences.pb
printf '\x10\x00' > no_optional.pb;                                    show no_optional.pb
printf '\x0a\x01s\x10\x01' > no_elements.pb;                           show no_elements.pb
printf '\x0a\x01m\x10\x08\x22\x01k\x2a\x09\x10\x01\x1a\x05\x10\x06\x2a\x01\x07' > map.pb; show map.pb
printf '\x0a\x0b\x08\x01\x10\x06\x2a\x01\x07\x42\x02sp\x12\x07\x08\x01\x10\x07\x3a\x01\x04\x18\x09' > sparse.pb; show sparse.pb
printf '\x08\x02\x10\x06\x2a\x04\x07' > cut.pb;                        show cut.pb
printf '\x0a\x02\x0a\x00' > other.pb;                                  show other.pb
: > empty.pb;                                                          show empty.pb
echo 'PK' > bad.npz;                                                   show bad.npz
npy() { printf '\x93NUMPY\x01\x00\x46\x00%-69s\n' "$1"; }
{ npy "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"; printf '\x80\x03.'; } > pickle.npy; show pickle.npy
{ npy "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }"; printf '\0\0\0\1\0\0\1\0'; } > big_endian.npy
{ npy "{'descr': '<c8', 'fortran_order': False, 'shape': (), }"; printf '\0\0\x80\x3f\0\0\0\x40'; } > complex.npy
onnxtool dump --values big_endian.npy; onnxtool dump --values complex.npy
mkdir empty; show empty; show --data empty; show missing.npy
show --node x complex.npy; show -f text complex.npy; show --tensor none complex.npy
show --values m.pb; show --histogram -f nodes m.pb
