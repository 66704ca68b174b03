# Recurrent weights of 16.8 MB in a file of their own: what is packed of them is given back before the rest is.
case $(dirname "$(readlink -f "$ONNXTOOL")") in */release) ;; *) # sanitizers keep memory of their own
    echo "in memory once"
    exit ;;
esac
head -c 16777216 /dev/zero >w.bin
cat >m.txt <<'MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,1,16] x) => (float[4,1,1,1024] y)
<float[1,4096,16] w = ["location": "w.bin", "length": "262144"], float[1,4096,1024] r = ["location": "w.bin"]>
{
    y = LSTM <hidden_size = 1024> (x, w, r)
}
MODEL
peak=$("$ONNXTOOL" run m.txt --random 1 -o y.npy -f json --repeat 2 | sed -n 's/.*"peak_rss_bytes": *\([0-9]*\).*/\1/p')
if [ "${peak:-999999999}" -le 27000000 ]; then echo "in memory once"; else echo "$peak bytes"; fi
