cat > two.schema <<'END'
<domain: "com.acme", version: 1>
Op (float[*S, N] x) => (float[*S, 2 * N] y)
<domain: "com.acme", version: 3>
Op <times: int = 3> (float[*S, N] x) => (float[*S, max(N - 1, 0) // times, ceil(N / 4), N % 4, min(N, 7), rank(x)] y)
More (seq(float[N]) s, float[N] x?, int64 k) => (seq(float[N, k]) t, optional(float[N]) o)
END
for v in 1 2 3; do
cat > m.onnxtxt <<END
<ir_version: 8, opset_import: ["" : 17, "com.acme" : $v]>
g (float[a, b] x, seq(float[c]) s, int64 k) => (y, t, o)
{
  y = com.acme.Op(x)
  t, o = com.acme.More(s, , k)
}
END
echo "version $v"
onnxtool shape-infer --schema two.schema m.onnxtxt
onnxtool shape-infer --schema two.schema m.onnxtxt --input x=5x10 | grep '^y'
done
