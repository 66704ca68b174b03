# DequantizeLinear gives float16 since opset 19 alone: before, a table of float16 stays as it is.
for opset in 17 19; do
    cat >m$opset.onnxtxt <<MODEL
<ir_version: 9, opset_import: ["" : $opset]>
g (int64[N] i) => (float16[N,2] y)
<float16[3,2] table = {1, 2, 3, 4, 5, 6}>
{
    ["lookup"] y = Gather (table, i)
}
MODEL
    onnxtool quantize-dynamic m$opset.onnxtxt -o q$opset.onnx 2>&1
    onnxtool check --full -q q$opset.onnx
    mkdir data$opset
    for i in 0 1; do
        printf '[%d]' $i >data$opset/$i.json
        onnxtool run m$opset.onnxtxt -i data$opset/$i.json -o data$opset/$i.npz --outputs i >/dev/null
        rm data$opset/$i.json
    done
    onnxtool quantize-static m$opset.onnxtxt --accuracy plain -o s$opset.onnx --calibration data$opset 2>&1 | grep Gather
    onnxtool check --full -q s$opset.onnx
done
