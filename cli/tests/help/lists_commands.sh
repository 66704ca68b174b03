onnxtool | cat; onnxtool help | head -n 5
