#!/usr/bin/env python3
"""Writes testdata/golden/tensors anew: files as numpy, ml_dtypes and Pillow make them, for the tests of tensor files.

Every array NAME.npy without another meaning holds 0, 1, 2, 3, 4, 5 in the shape 2 x 3.
"""
import json
import os
import struct

import ml_dtypes
import numpy as np
from PIL import Image

os.chdir(os.path.join(os.path.dirname(__file__), "..", "testdata", "golden", "tensors"))
counting = np.arange(6).reshape(2, 3)

for name in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
    np.save(name, counting.astype(name))
for name in "i4 u2 f2 f8 c8".split():
    np.save("big_" + name, counting.astype(np.dtype(name).newbyteorder(">")))
    np.save("fortran_" + name, np.asfortranarray(counting.astype(name)))
np.save("bool", counting % 2 == 1)
np.save("longdouble", counting.astype(np.longdouble))
np.save("clongdouble", counting.astype(np.clongdouble))
np.save("bfloat16", counting.astype(ml_dtypes.bfloat16))
np.save("float8", counting.astype(ml_dtypes.float8_e4m3fn))
np.save("float8_e5m2", counting.astype(ml_dtypes.float8_e5m2))
np.save("datetime", counting.astype("M8[ns]"))
np.save("scalar", np.float32(7))
np.save("empty", np.zeros((0, 5), np.int64))
np.save("text", np.array([["a", "bc\u00e9"], ["", "\U0001F600"]]))
np.save("text_fortran_big", np.asfortranarray(np.array([["a", "bc\u00e9"], ["", "\U0001F600"]]).astype(">U3")))
np.save("bytes", np.array([b"x\xff", b"", b"y\0z"]))
np.save("object", np.array([1, "a", None], object), allow_pickle=True)
np.save("structured", np.zeros(2, [("a", "<i4"), ("b", "<f4")]))
for major in (1, 2, 3):
    with open(f"version{major}.npy", "wb") as f:
        np.lib.format.write_array(f, counting.astype("f4"), version=(major, 0))
three_d = np.arange(24, dtype="i2").reshape(2, 3, 4)
np.save("fortran_3d", np.asfortranarray(three_d))
arrays = {"x": counting.astype("f4"), "layer.0/weight": three_d, "flag": np.bool_(True), "text": np.array(["\u00e4", "b"])}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)

y, x = np.mgrid[0:9, 0:13]
picture = np.stack([x * 19, y * 28, (x * y * 7) % 256], -1).astype(np.uint8)
image = Image.fromarray(picture)
image.save("picture.png")
image.save("picture.ppm")
image.save("picture.jpg", quality=85)
image.save("picture.bmp")
image.save("picture.tif", compression="tiff_lzw")
image.save("picture.webp", lossless=True)
image.save("picture.jp2", irreversible=False)
image.save("progressive.jpg", quality=85, progressive=True)
image.convert("CMYK").save("cmyk.jpg", quality=85)
image.convert("P").save("palette.png")
image.convert("RGBA").save("alpha.png")
image.convert("L").save("gray.png")
image.convert("L").save("gray.pgm")
image.convert("1").save("bits.png")
for name in "picture.jpg progressive.jpg cmyk.jpg palette.png gray.png bits.png".split():
    np.save(name.replace(".", "_"), np.asarray(Image.open(name).convert("RGB")))
np.save("picture", picture)
np.save("picture_gray", np.asarray(image.convert("L")))
np.save("resized_5x7", np.asarray(image.resize((7, 5), Image.BILINEAR)))
np.save("resized_20x30", np.asarray(image.resize((30, 20), Image.BILINEAR)))
shorter = image.resize((int(6 * 13 / 9), 6), Image.BILINEAR)
np.save("shorter_6_crop_4", np.asarray(shorter.crop((2, 1, 6, 5))))

header = json.dumps({
    "__metadata__": {"format": "pt"},
    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "h": {"dtype": "BF16", "shape": [3], "data_offsets": [24, 30]},
    "f": {"dtype": "BOOL", "shape": [2], "data_offsets": [30, 32]},
}).encode()
with open("small.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(header)) + header + counting.astype("<f4").tobytes())
    f.write(np.arange(3).astype(ml_dtypes.bfloat16).tobytes() + b"\0\1")
