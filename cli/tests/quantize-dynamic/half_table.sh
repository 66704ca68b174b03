# DequantizeLinear gives float16 since opset 19 alone: a table of float16 stays as it is before.
for form in '17 float' '17 float16' '19 float16'; do
    set -- $form
    echo "--- opset $1, beside $2"
    cat >m.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : $1]>
g (int64[N] i) => (float16[N,2] y, $2[2,2] z)
<float16[3,2] table = {1, 2, 3, 4, 5, 6}, $2[2,2] w = {1, 2, 3, 4}>
{
    ["lookup"] y = Gather (table, i)
    z = Relu (w)
}
MODEL
    onnxtool quantize-dynamic m.onnxtxt -o q.onnx 2>&1
    onnxtool check --full -q q.onnx
    rm -rf data && mkdir data
    for i in 0 1; do
        printf '[%d]' $i >data/$i.json
        onnxtool run m.onnxtxt -i data/$i.json -o data/$i.npz --outputs i >/dev/null
        rm data/$i.json
    done
    onnxtool quantize-static m.onnxtxt --accuracy plain -o s.onnx --calibration data 2>&1 | grep Gather
    onnxtool check --full -q s.onnx
done
