"""Loads models in the onnxruntime that is on the path and tells how it went; needs nothing but numpy.

usage: target_worker.py MODELS.bin RESULTS START MAX_OPSET MAX_ML_OPSET

Appends a line a model: a letter, and for failures a tab and the message's first line.
k: a kernel runs the node; c: a kernel of another type between casts; f: other nodes took its place;
n: no implementation; s: not in this release's operator sets; o: refused otherwise. A crash ends the worker:
its caller counts lines, writes x for the model that did it and starts again after it.
"""

import struct
import sys

SCHEMA = ("is not a registered function/op", "No Op registered for", "No Schema registered", "No opset import",
          "is under development and support", "Opset")


def classify(error):
    text = str(error)
    if "NOT_IMPLEMENTED" in text or "Could not find an implementation" in text:
        return "n"
    if any(part in text for part in SCHEMA):
        return "s"
    return "o"


def main():
    import onnxruntime

    models, results, start, max_opset, max_ml = sys.argv[1:]
    saved = results + ".onnx"
    data = open(models, "rb").read()
    at = index = 0
    out = open(results, "a", buffering=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = saved
    while at < len(data):
        size, opset, ml = struct.unpack_from("<IHH", data, at)
        model = data[at + 8 : at + 8 + size]
        at += 8 + size
        index += 1
        if index <= int(start):
            continue
        if opset > int(max_opset) or ml > int(max_ml):
            out.write("s\n")
            continue
        try:
            onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            kept = open(saved, "rb").read()
            # graph, node, op_type: the one node's name field is the first of its kind in what we wrote
            name = op_type(model)
            if b"InsertedPrecisionFreeCast" in kept or b"InsertedCast" in kept:
                out.write("c\n")
            elif b"\x22" + bytes([len(name)]) + name in kept:
                out.write("k\n")
            else:
                out.write("f\n")
        except Exception as error:
            letter = classify(error)
            out.write(letter + "\t" + str(error).replace("\n", " ")[:300] + "\n")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def field(data, number):
    """The first length-delimited field of that number."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            _, at = varint(data, at)
            continue
        if tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
            continue
        size, at = varint(data, at)
        if tag >> 3 == number:
            return data[at : at + size]
        at += size
    return b""


def op_type(model):
    return field(field(field(model, 7), 1), 4)


if __name__ == "__main__":
    main()
