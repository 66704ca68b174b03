onnxtool hlep
