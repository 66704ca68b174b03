onnxtool --version
