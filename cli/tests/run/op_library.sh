E=$TESTDATA/custom-op
cp "$E/acme.schema" .
${CC:-cc} -shared -fPIC -I"$TESTDATA/../lib" -o acme.so "$E/acme.c" || exit 99
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[n, 2] x) => (z, k)
{
  a = com.acme.Inc <step = 0.5>(x)
  b, k = com.acme.Keep <above = 2.0>(a)
  z = com.acme.Inc(b)
}
END
echo '[[1, 2], [3, 4], [5, 6]]' > x.json
onnxtool run m.onnxtxt -i x=x.json
for how in '' --op-inside '--schema acme.schema' '-O0 --schema acme.schema'; do
    echo "library $how"
    # shellcheck disable=SC2086
    onnxtool run m.onnxtxt -i x=x.json --op-library acme.so $how
done
onnxtool run m.onnxtxt -i x=x.json --op-library acme.so --oracle
