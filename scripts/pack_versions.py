#!/usr/bin/env python3
"""Packs a case of each operator version that ONNX's own suite does not reach into testdata/suite/versions.gz, in the form of pack_suite.py.

    pack_versions.py CASES [FILE]

CASES is what `ops_diff.py build` wrote: node cases of the suite rewritten to older operator versions, with what onnxruntime and onnx's
reference evaluator answer. For each (operator, version) the smallest case on friendly values is kept, one that both answered if there is
one. Left out are kinds where a peer departs from the standard's text (lib/ops/README.md) and random operators.
"""
import argparse
import collections
import gzip
import json
import os
import re
import struct
import sys

import pack_suite
import worked_versions

# Versions in which whoever answered departs from the standard: see lib/ops/README.md.
DEPARTS = {("AveragePool", 1): "pads|same", ("OneHot", 9): "negative|range|random"}


def size_of(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)


def choose(root):
    """The name of a case by (domain, operator, version)."""
    found = collections.defaultdict(list)
    for name in os.listdir(root):
        with open(os.path.join(root, name, "data.json")) as f:
            facts = json.load(f)
        domain = name.split("@")[1].rsplit("-", 2)[0]
        part = DEPARTS.get((facts["op"], facts["since"]))
        if facts["variant"] in ("given", "random") and not (part and re.search(part, name)):
            found[domain, facts["op"], facts["since"]].append((facts["who"] != "both", size_of(os.path.join(root, name)), name))
    return {key: min(cases)[2] for key, cases in sorted(found.items())}


def pack_case(title, model, sides, rtol, atol):
    body, title = model.SerializeToString(), f"versions/{title}".encode()
    out = struct.pack("<H", len(title)) + title + struct.pack("<ddB", rtol, atol, 0)
    out += struct.pack("<I", len(body)) + body + struct.pack("<H", 1)
    for side in sides:
        out += struct.pack("<H", len(side)) + b"".join(side)
    return out


def pack_value(value, info):
    """A dictionary as keys and values of one tensor each, which pack_suite.py has no need of."""
    import numpy as np
    from onnx import numpy_helper
    if isinstance(value, dict):
        keys = np.array(list(value), object if isinstance(next(iter(value)), str) else np.int64)
        sides = keys, np.array(list(value.values()))
        return b"M" + b"".join(pack_suite.pack_tensor(numpy_helper.from_array(side)) for side in sides)
    if isinstance(value, list):
        return struct.pack("<cBI", b"S", 0, len(value)) + b"".join(pack_value(item, info) for item in value)
    return pack_suite.pack_value(pack_suite.proto_of(value, info.type, info.name))


def pack_worked(name, text, inputs, outputs):
    import onnx.parser
    model = onnx.parser.parse_model(text)
    sides = [[pack_value(v, info) for v, info in zip(values, infos)]
             for values, infos in ((inputs, pack_suite.fed_inputs(model.graph)), (outputs, model.graph.output))]
    return pack_case(name, model, sides, 1e-5, 1e-6)


def pack(root, name):
    import onnx
    folder = os.path.join(root, name)
    with open(os.path.join(folder, "data.json")) as f:
        facts = json.load(f)
    model = onnx.load(os.path.join(folder, "model.onnx"))
    data = os.path.join(folder, "test_data_set_0")
    values = (pack_suite.read_files(data, "input", pack_suite.fed_inputs(model.graph)),
              pack_suite.read_files(data, "output", model.graph.output))
    sides = [[pack_suite.pack_value(value) for value in side] for side in values]
    return pack_case(name, model, sides, facts["rtol"], facts["atol"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("cases")
    parser.add_argument("file", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata", "suite", "versions.gz"))
    args = parser.parse_args()
    packed = [pack(args.cases, name) for name in choose(args.cases).values()] + [pack_worked(*case) for case in worked_versions.cases()]
    with open(args.file, "wb") as f:
        f.write(gzip.compress(b"OXSUITE1" + b"".join(packed), 9, mtime=0))
    print(f"{len(packed)} cases, {os.path.getsize(args.file)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
