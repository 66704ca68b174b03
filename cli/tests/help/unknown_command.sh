onnxtool hlep
for word in quantize convert infer simplify bench xyzzy v; do onnxtool $word; done
onnxtool help chek
