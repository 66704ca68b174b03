# The example in the README, compiled against an installed copy and run.
top=$(cd "$TESTDATA/.." && pwd)
sed -n '/<!-- example/,/^```$/p' "$top/README.md" | sed -n '/^```c$/,/^```$/p' | sed '1d;$d' > example.c
build=$(dirname "$ONNXTOOL")
packages="libprotobuf-c libcjson zlib libpng libjpeg libpcre2-8"
for optional in libwebp libtiff-4 libopenjp2; do pkg-config --exists $optional && packages="$packages $optional"; done
case $build in *sanitize*) flags=-fsanitize=address,undefined ;; *coverage*) flags=--coverage ;; *) flags= ;; esac
gcc -std=c11 -Wall -Wextra -Werror $flags -I"$top/lib" example.c -o example "$build/libonnxtool.a" $(pkg-config --libs $packages) -lm -pthread || exit 1
./example "$TESTDATA/models/digits.onnx"
./example missing.onnx
