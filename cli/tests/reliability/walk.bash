# walk KIND STEP: runs each command below again and again while every STEP-th allocation (KIND memory) or file call (files) of it fails,
# once and from there on. It must end with an exit code that is documented, say why, and leave the old output or the new, nothing else.
model='<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x) => (float[N,3] y)
<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] b = {1,2,3}, int64 zero = {0}, int64[1] axis = {0}, int64[1] three = {3}>
{ a = MatMul(x, w)  c = Add(a, b)  r = Relu(c)  s = Shape(x)  n = Gather<axis=0>(s, zero)  m = Unsqueeze(n, axis)
  t = Concat<axis=0>(m, three)  y = Reshape(r, t) }'
commands="check --full --lint m.onnxtxt
check -f sarif digits.onnx
check --log ../log --resume m.onnxtxt other.onnxtxt
check --target onnxruntime=1.14 --min-target m.onnxtxt
dump digits.onnx
dump -f tensors digits.onnx
dump -f svg -o out m.onnxtxt
shape-infer --explain y -f json m.onnxtxt
shape-infer -o out m.onnxtxt
run digits.onnx --image digit-7.png --channels gray --scale 1/255 --top 2 --labels digits.txt
run m.onnxtxt --random 1 -o out.npz
quantize-dynamic m.onnxtxt -o out
quantize-dynamic m.onnxtxt -o out --weight-only int4
optimize --fp16 m.onnxtxt -o out
convert-opset m.onnxtxt --to 11 -o out
parity m.onnxtxt other.onnxtxt --random 1 --bisect
parity m.onnxtxt --random 1 --perturb
diff m.onnxtxt other.onnxtxt
edit m.onnxtxt --prefix p/ --rename-dim N=batch --insert p/a=Neg -o out
merge m.onnxtxt other.onnxtxt --apart --shared x --prefix2 q/ -o out
external-data strip digits.onnx -o out --threshold 16
external-data pack digits.onnx -o out --threshold 16
ops Conv --opset 11
help run"

faulty() { # COMMAND WORDS...
    rm -rf -- * .[!.]*
    cp "$TESTDATA"/models/digit* .
    printf '%s' "$model" > m.onnxtxt
    printf '%s' "${model/4,5,6/4,5,7}" > other.onnxtxt
    printf old > out
    printf old > out.npz
    LD_PRELOAD=../fault.so FAULT_MARK=../mark "$ONNXTOOL" "$@" > ../said 2> ../why
}

judge() { # CODE COMMAND WORDS...
    local code=$1 kept
    shift
    case $code in
    0 | 1 | 3 | 5) ;;
    *) echo "$FAULT $FAULT_AT${FAULT_EVER:+ and on}: exit $code: $*" ;;
    esac
    [ "$code" = 0 ] || [ "$code" = 1 ] || [ -s ../why ] || echo "$FAULT $FAULT_AT${FAULT_EVER:+ and on}: silent: $*"
    for kept in out out.npz; do
        [ "$(head -c 3 $kept 2>&1)" = old ] || cmp -s $kept ../new/$kept || echo "$FAULT $FAULT_AT: $kept is neither old nor new: $*"
    done
    kept=$(ls -A | grep -vx out.data)
    [ "$kept" = "$names" ] || echo "$FAULT $FAULT_AT: left behind: $kept: $*"
}

walk() {
    export FAULT=$1 FAULT_AT FAULT_EVER
    local step=$2 runs=0 words
    case $ONNXTOOL in */release/*) ;; *) # the sanitizers and gcov allocate on their own
        echo "all ended as they should"
        return ;;
    esac
    gcc -D_GNU_SOURCE -O1 -shared -fPIC -o fault.so "$CASES/fault.c" || exit 1
    mkdir work
    cd work || exit 1
    while read -r words; do
        FAULT_AT=0
        unset FAULT_EVER
        # shellcheck disable=SC2086
        faulty $words
        rm -rf ../new out.data
        names=$(ls -A)
        cp -r . ../new
        for FAULT_EVER in "" 1; do
            [ "$FAULT_EVER" ] || unset FAULT_EVER
            for ((FAULT_AT = 1; ; FAULT_AT += step)); do
                rm -f ../mark
                # shellcheck disable=SC2086
                faulty $words
                code=$?
                [ -e ../mark ] || break
                # shellcheck disable=SC2086
                judge $code $words
                runs=$((runs + 1))
            done
        done
    done <<< "$commands"
    [ $runs -gt 100 ] && echo "all ended as they should"
}
