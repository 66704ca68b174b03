cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2] x) => (float[1,2] y, float[1,2] z)
<float[2,2] w = {1, 2, 3, 4}>
{
    ["a/first"] a = MatMul (x, w)
    ["a/second"] b = MatMul (a, w)
    ["b/third"] y = MatMul (b, w)
    ["b/other"] z = MatMul (x, a)
}
MODEL
dry() { echo "$*"; onnxtool quantize-dynamic m.onnxtxt --dry-run "$@" | grep -v bytes; }
dry
dry --nodes 'a/*'
dry --nodes 're:.*/(first|third)$'
dry --nodes after:a/second
dry --exclude-nodes before:a/second
dry --op-types MatMul --exclude-nodes b/third,a/first
onnxtool quantize-dynamic m.onnxtxt --dry-run --nodes a/frist
onnxtool quantize-dynamic m.onnxtxt --dry-run --nodes 're:('
onnxtool quantize-dynamic m.onnxtxt --dry-run --op-types Conv
onnxtool quantize-dynamic m.onnxtxt
