# GlobalAveragePool has been the same since opset 1, but casts to float16 can be put around it from opset 6 on only.
pool() {
    echo "<ir_version: 8, opset_import: [\"\" : $1]> agraph (float16[N,3,8,8] x) => (float16[N,3,1,1] y) { [pool] y = GlobalAveragePool(x) }" >"half$1.txt"
    onnxtool check --target onnxruntime=1.20.1 "half$1.txt"
}
pool 17
pool 5
