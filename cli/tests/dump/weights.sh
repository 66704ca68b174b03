printf '<ir_version: 8>\ng () => (float[20] w)\n<float[20] w = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19}>\n{ }\n' > m.onnxtxt
onnxtool dump -f text --weights sample m.onnxtxt
onnxtool dump -f text --weights none m.onnxtxt
