for digit in 3 5 7; do
    onnxtool run "$TESTDATA/models/digits.onnx" --image "$TESTDATA/models/digit-$digit.png" --channels gray --scale 1/255 \
        --top 1 --labels "$TESTDATA/models/digits.txt" | awk '{print $NF}'
done
