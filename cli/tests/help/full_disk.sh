onnxtool help >/dev/full
