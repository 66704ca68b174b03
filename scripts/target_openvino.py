"""Which one-node models OpenVINO's ONNX frontend reads: CACHE/probe/openvino-VERSION.txt, a letter a model (k: read, n: not).

usage: target_openvino.py CACHE VERSION      (the Python of that wheel; CACHE/ov/VERSION is the unpacked wheel)

Goes on after the answers that are there: where a model crashed it, add a line "x" and start it again.
"""

import os
import struct
import sys


def main():
    import openvino

    cache, version = sys.argv[1:]
    core = openvino.Core()
    data = open(f"{cache}/probe/m.bin", "rb").read()
    answers = f"{cache}/probe/openvino-{version}.txt"
    done = sum(1 for _ in open(answers)) if os.path.exists(answers) else 0
    at = index = 0
    with open(answers, "a", buffering=1) as out:
        while at < len(data):
            size, _, _ = struct.unpack_from("<IHH", data, at)
            model = data[at + 8 : at + 8 + size]
            at += 8 + size
            index += 1
            if index <= done:
                continue
            try:
                core.read_model(model)
                out.write("k\n")
            except Exception as error:
                out.write("n\t" + str(error).replace("\n", " ")[:400] + "\n")


if __name__ == "__main__":
    main()
