# Files that are no model are told by what they are, damaged ones by what became of them.
model=$TESTDATA/models/digits.onnx
size=$(wc -c < "$model")
make() { cat > "$1"; }
printf '\n\n<HTML><body>Access Denied</body></HTML>' | make page.onnx
printf '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>' | make server.onnx
printf '<?xml version="1.0"?>\n<net name="m" version="11"></net>' | make openvino.xml
printf 'import onnx\n' | make program.py
printf 'BZh91AY&SY\0\0\0\0' | make bz2.onnx
printf '\3757zXZ\0\0\0\0' | make xz.onnx
tar cf tar.onnx page.onnx
printf '\377\376<\0i\0r\0' | make utf16.onnxtxt
printf '\12\42\12\5input\22\13Placeholder*\14\12\5dtype\22\3\60\1x' | make graph.pb
head -c 1000 /dev/zero | make zeros.onnx
head -c 10000 "$model" | make half.onnx
head -c $((size - 1)) "$model" | make but_one.onnx
{ head -c 10000 "$model"; head -c $((size - 10000)) /dev/zero; } | make unfinished.onnx
sed 's/$/\r/' "$model" | make returns.onnx
iconv -f latin1 -t utf8 "$model" | make utf8.onnx
mkdir saved package
: > saved/saved_model.pb
: > package/Manifest.json
for file in *; do
    onnxtool check "$file" 2>&1
done
