#!/usr/bin/env python3
"""Writes testdata/malformed/ below the given folder: files that are no models, each for one reason: gen_malformed.py FOLDER"""
import os
import sys


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def tag(field, wire):
    return varint(field << 3 | wire)


def data(field, content):
    return tag(field, 2) + varint(len(content)) + content


def number(field, value):
    return tag(field, 0) + varint(value)


def model(graph, after=b""):
    return number(1, 8) + data(7, graph) + after + data(8, data(1, b"") + number(2, 21))


def node(**fields):
    numbers = {"input": 1, "output": 2, "name": 3, "op_type": 4, "attribute": 5}
    return data(1, b"".join(data(numbers[name], content) for name, content in fields.items()))


def nested(depth):
    """A graph with `depth` graphs within each other, three messages each."""
    graph = data(2, b"g")
    for _ in range(depth):
        graph = node(op_type=b"If", attribute=data(1, b"then_branch") + data(6, graph) + number(20, 5))
    return graph


RELU = node(input=b"x", output=b"y", op_type=b"Relu") + data(2, b"g")
GOOD = model(RELU)

FILES = {
    "empty": b"",
    "cut_off": GOOD[:-3],
    "cut_off_in_a_length": GOOD[:2] + tag(7, 2) + b"\x80",
    "length_past_the_end": number(1, 8) + tag(7, 2) + varint(1000) + RELU,
    "length_2_31": number(1, 8) + tag(7, 2) + varint(2**31) + RELU,
    "length_2_64_minus_1": number(1, 8) + tag(7, 2) + varint(2**64 - 1) + RELU,
    "inner_length_past_the_outer": number(1, 8) + data(7, tag(1, 2) + varint(60) + RELU) + data(6, b"a" * 100),
    "number_of_eleven_bytes": tag(1, 0) + b"\x80" * 10 + b"\x01",
    "field_number_0": model(RELU, b"\x00\x01"),
    "field_number_2_29": model(RELU, varint(2**29 << 3) + b"\x01"),
    "wire_type_7": model(RELU, b"\x57"),
    "group_left_open": model(RELU) + tag(99, 3),
    "group_never_opened": model(RELU) + tag(99, 4),
    "groups_too_deep": model(RELU) + tag(99, 3) * 101 + tag(99, 4) * 101,
    "nul_in_a_name": model(node(input=b"x\0y", output=b"y", op_type=b"Relu")),
    "name_not_utf8": model(node(input=b"x", output=b"y", op_type=b"Rel\xff")),
    "overlong_utf8": model(data(2, b"g\xc0\x80")),
    "surrogate_in_a_name": model(data(2, b"g\xed\xa0\x80")),
    "subgraphs_34_deep": model(nested(34)),
    "subgraphs_3000_deep": model(nested(3000)),
    "packed_floats_of_7_bytes": model(RELU + data(5, number(1, 2) + number(2, 1) + data(8, b"w") + data(4, bytes(7)))),
    "unknown_fields_only": number(99, 1) + data(100, b"x"),
    "zip": b"PK\x03\x04" + bytes(26),
    "gzip": b"\x1f\x8b\x08\x00" + bytes(14),
    "html": b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n",
    "git_lfs_pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12345\n",
    "numpy": b"\x93NUMPY\x01\x00" + bytes(20),
    "pickle": b"\x80\x02}q\x00.",
    "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(8),
    "tflite": b"\x1c\x00\x00\x00TFL3" + bytes(20),
    "words": b"This is not a model.\n",
}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: gen_malformed.py FOLDER")
    folder = os.path.join(sys.argv[1], "testdata", "malformed")
    os.makedirs(folder, exist_ok=True)
    for name, content in FILES.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as out:
            out.write(content)


main()
