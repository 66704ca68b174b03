onnxtool ops BatchNormalisation
onnxtool ops Slise Abs | head -n 1
onnxtool ops Whatever
