# A calibration holds as much with many samples as with few: those that are kept, up to 64, take each other's place.
case $(dirname "$(readlink -f "$ONNXTOOL")") in */release) ;; *) # sanitizers keep memory of their own
    echo "no more than a twentieth"
    exit ;;
esac
model() { # ROWS
    cat <<MODEL
<ir_version: 8, opset_import: ["" : 17]>
g (float[$1,3,96,96] x) => (float y)
<float[4,3,1,1] a = {1, -2, 3, 0.5, 0.25, -1, 1, 2, 3, -3, -2, -1}, float[1,16,1,1] b = {1, 2, -3, -4, 0.5, 0.25, 0, 1,1,1,1,1,1,1,1,1}>
{
    h = Conv (x, a)
    r = Relu (h)
    q = MaxPool <kernel_shape=[3,3], strides=[2,2]> (r)
    s = Sigmoid (q)
    k = Concat <axis=1> (s, q)
    t = Tanh (k)
    u = AveragePool <kernel_shape=[3,3], strides=[2,2]> (t)
    v = Exp (u)
    w = Concat <axis=1> (v, u)
    c = Conv (w, b)
    p = GlobalAveragePool (c)
    y = Flatten (p)
}
MODEL
}
# The most that was resident when the first byte comes; the others do not fit into the pipe, so the program still waits.
peak() { # SAMPLES
    model "$1" >draw.txt
    "$ONNXTOOL" run draw.txt --random 1 --outputs x -o x.npz -q
    sh -c 'echo $$ >pid; exec "$ONNXTOOL" quantize-static -q m.txt --calibrate-only --table /dev/stdout --calibration x.npz' | {
        head -c 1 >/dev/null
        sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(cat pid)/status"
        cat >/dev/null
    }
}
model 1 >m.txt
few=$(peak 66)
many=$(peak 500)
if [ "${few:-0}" -gt 0 ] && [ "${many:-999999}" -le $((few * 21 / 20)) ]; then
    echo "no more than a twentieth"
else
    echo "$few kB, then $many kB"
fi
