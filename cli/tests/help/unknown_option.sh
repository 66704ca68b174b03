onnxtool help --mann
