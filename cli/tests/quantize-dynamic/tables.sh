# With --weight-only tables that Gather reads become int8 in blocks along their rows, where nothing else reads them and it pays.
cat >m.onnxtxt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (int64[n,m] i, int64 j, bool c, float z) => (float[n,m,8] y, float[36] row, float[n,m,36] few, float[n,m,36] shared, float[60,36] read, float[n,m,36] inner, float[60,n,m] turned, float[n,m,20] narrow)
<int64[2] wide = {60, 36}, int64[2] short = {4, 36}, int64[2] thin = {108, 20}, int64[2] matrix = {36, 8}, float zero = {0}, float one = {1}, float most = {2160}, float least = {144}>
{
    range = Range (zero, most, one)
    start = Range (zero, least, one)
    sines = Sin (range)
    cosines = Cos (range)
    roots = Sqrt (range)
    table = Reshape (sines, wide)
    ["rows"] e = Gather (table, i)
    ["one row"] row = Gather (table, j)
    weight = ConstantOfShape <value = float[1] {0.25}> (matrix)
    ["product"] y = MatMul (e, weight)
    small_table = Reshape (start, short)
    ["few"] few = Gather (small_table, i)
    shared_table = Reshape (cosines, wide)
    ["shared"] shared = Gather (shared_table, i)
    ["reader"] read = Mul (shared_table, z)
    captured_table = Reshape (roots, wide)
    ["outer"] outer = Gather (captured_table, i)
    inner = If (c) <then_branch = t () => (float[n,m,36] a) { ["inner"] a = Gather (captured_table, i) },
                    else_branch = f () => (float[n,m,36] b) { b = Identity (outer) }>
    column_table = Reshape (cosines, wide)
    ["columns"] turned = Gather <axis = 1> (column_table, i)
    thin_table = Reshape (sines, thin)
    ["thin"] narrow = Gather (thin_table, i)
}
MODEL
onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int4 -v
onnxtool check q.onnx
onnxtool dump q.onnx -f text | grep -E 'Gather|DequantizeLinear' | grep -E 'table|e_|row'
onnxtool parity q.onnx m.onnxtxt --random 1 --shape i=2x3 --atol 0.02 --rtol 0.02 | grep agrees | cut -c 1-15
onnxtool quantize-dynamic m.onnxtxt -o q2.onnx --weight-only int4 -q -t 1 && cmp q.onnx q2.onnx
for how in '--op-types MatMul' '--exclude-nodes rows' '--contrib' '--scale-type float32'; do
    echo "--- $how"
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx --weight-only int8 -v $how | grep -E 'row|tables'
done
echo "--- before opset 21: a scale a row, where rows are long enough"
sed 's/{60, 36}/{48, 45}/' m.onnxtxt >long.onnxtxt
sed -i 's/,36\]/,45]/g; s/\[36\] row/[45] row/; s/few = Gather (small/gone = Gather (small/; s/float\[60,45\] read/float[48,45] read/; s/float\[60,n,m\] turned/float[48,n,m] turned/; s/, float\[n,m,45\] few//; s/{36, 8}/{45, 8}/' long.onnxtxt
onnxtool quantize-dynamic long.onnxtxt -o q.onnx --weight-only int8 --contrib -v | grep -E 'row|tables|outer'
onnxtool dump q.onnx -f text | grep -E 'Gather \((table|captured)' | sed 's/^ *//'
onnxtool parity q.onnx long.onnxtxt --random 1 --shape i=2x3 --atol 0.02 --rtol 0.02 | grep agrees | cut -c 1-15
