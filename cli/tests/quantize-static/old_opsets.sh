# --compat ort goes where onnxruntime's quantizer does: a model from before opset 10 becomes one of 11, and operators on integers have a scale a channel
# from 10 on. Q/DQ of channels need 13: what onnxruntime writes there it refuses itself.
for opset in 9 11; do
    cat >m.onnxtxt <<MODEL
<ir_version: 8, opset_import: ["" : $opset]>
g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, -2, 0.5, 3}> { y = Conv (x, w) }
MODEL
    mkdir -p data
    for i in 1 2 3; do onnxtool run m.onnxtxt --random $i -q --save-test-data data/test_data_set_$i >/dev/null; done
    for how in '--quant-format qdq' '--quant-format qoperator --per-channel' '--quant-format qdq --per-channel'; do
        rm -f q.onnx
        # shellcheck disable=SC2086
        onnxtool quantize-static m.onnxtxt --compat ort $how -q -o q.onnx --calibration data 2>&1
        [ ! -e q.onnx ] || { onnxtool check -q --full q.onnx; onnxtool dump q.onnx -f text | grep -o 'opset_import.*\|QLinearConv (' ; }
    done
done
