onnxtool help help | head -n 3
