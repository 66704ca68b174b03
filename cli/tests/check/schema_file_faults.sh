try() {
    printf '%b' "$1" > a.schema
    onnxtool check --schema a.schema m.onnxtxt
    echo "exit $?"
}
cat > m.onnxtxt <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[n] x) => (float[n] z) { z = Relu(x) }
END
H='<domain: "a">\n'
try 'Op (float x) => (float y)'
try '<domain: "ai.onnx"> Op (float x) => (float y)'
try '<domain: "a", version: 0>'
try '<domain: "com.microsoft"> Gelu (float x) => (float y)'
try "$H"'Op (float x) => (float y)\nOp (float x) => (float y)'
try "$H"'Op (float x, float x) => (float y)'
try "$H"'Op <k: int, k: int> (float x) => (float y)'
try "$H"'Op <k: real> (float x) => (float y)'
try "$H"'Op <x: int> (float x) => (float y)'
try "$H"'Op (float x..., float z) => (float y)'
try "$H"'Op (float[*S, *R] x) => (float y)'
try "$H"'Op (T x) => (T y) where U: float'
try "$H"'Op (T x) => (T y) where T: real'
try "$H"'Op <k: string> (float[N] x) => (float[k] y)'
try "$H"'Op (float[N] x) => (float[x[0]] y)'
try "$H"'Op (float[N] x) => (float[N[0]] y)'
try "$H"'Op (float[N] x) => (float[N +] y)'
try "$H"'Op (float[N] x) => (float[N / 2] y)'
deep=$(printf '%0200d' 0 | tr 0 '(')
try "${H}Op (float[N] x) => (float[$deep] y)"
long=$(printf '%01001d' 0 | sed 's/0/1+/g')
try "${H}Op (float[N] x) => (float[${long}1] y)"
try "$H"'Op (float[N] x) => (float[z] y) where a = N+N; b = a+a; c = b+b; d = c+c; e = d+d; f = e+e; g = f+f; h = g+g; i = h+h; z = i+i'
try 'Op\0'
rm a.schema
onnxtool check --schema a.schema m.onnxtxt
