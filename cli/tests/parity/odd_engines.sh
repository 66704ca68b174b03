# Engines that misbehave are told by their names, with an exit code that is no verdict, and leave nothing behind.
mkdir tmp bin && export TMPDIR=$PWD/tmp
engine() { { echo '#!/bin/sh'; echo '[ "$1" = --version ] && echo "'"$1"' 1.0" && exit'; cat; } >bin/onnxtool-engine-$1; chmod +x bin/onnxtool-engine-$1; }
engine silent <<'END'
exit 0
END
engine empty <<'END'
: >"$3"
END
engine garbage <<'END'
echo garbage >"$3"
END
# As interpreters end when nobody catches an exception.
engine uncaught <<'END'
exit 1
END
engine litter <<'END'
mkdir "${3%/*}/more" && echo left >"${3%/*}/more/file" && exec "$ONNXTOOL" run -q "$1" -i "$2" -o "$3"
END
printf '#!/bin/sh\n[ "$1" = --version ] && { head -c 300000 /dev/zero | tr "\\0" v || exit 3; exit; }\nexec "$ONNXTOOL" run -q "$1" -i "$2" -o "$3"\n' >bin/onnxtool-engine-wordy
chmod +x bin/onnxtool-engine-wordy
export PATH=$PWD/bin:$PATH
printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[4] x) => (float[4] y) { y = Tanh(x) }\n' >m.onnx
for name in silent empty garbage uncaught litter wordy; do
    echo "== $name"
    "$ONNXTOOL" parity m.onnx --engine $name --random 1 -q 2>&1
    echo "exit $?"
done
ls "$TMPDIR"
