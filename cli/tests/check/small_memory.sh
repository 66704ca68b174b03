# What a small check holds is mostly code and tables that the kernel maps around those in use: 1.7 to 1.8 MB where scripts/near.ld is fresh
# (CONTRIBUTING says how to make it again) and libraries are given back, more with each change that strews them; --stats itself takes 0.1 to
# 0.2. The goal is a twentieth of what Python onnx holds, 2.34 MB.
build=$(dirname "$(readlink -f "$ONNXTOOL")")
case $build in */release) ;; *) # other builds are not laid out, and sanitizers keep memory of their own
    echo within
    exit ;;
esac
cp "$TESTDATA/models/digits.onnx" .
least=999999999
for _ in 1 2 3 4 5; do # where the libraries come to lie is chance
    resident=$("$ONNXTOOL" check --full --stats digits.onnx 2>&1 >/dev/null | sed -n 's/.* bytes of memory, \([0-9]*\) resident at most$/\1/p')
    [ "${resident:-999999999}" -ge "$least" ] || least=$resident
done
if [ "$least" -le 2150000 ]; then echo within; else echo "$least bytes resident"; fi
