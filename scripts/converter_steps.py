#!/usr/bin/env python3
"""Which downward steps onnx's own version converter lacks, and which of them convert-opset takes.

    OX_CONVERT_ALL=1 OX_CONVERT_LOG=LOG.json CK_FORK=no TESTDATA=testdata build/release/lib/tests/test_convert_suite
    scripts/converter_steps.py LOG.json

A step is an operator of ai.onnx and the version that it leaves (13: from 13 to 12). onnx lacks it when its converter says that it has
no adapter. Here it "works" when a case with the operator was converted below that version and its outputs were equal; "refused"
when cases with it were refused at it, and none was converted; else "not seen": no case crosses it. Needs onnx."""
import collections
import json
import os
import sys

import onnx
from onnx import helper

FLOAT = onnx.TensorProto.FLOAT


def lacks(schema):
    """Whether onnx has no adapter from that row down; told by a child, for adapters may crash on a bare node."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        answer = b"n"
        try:
            n_in, n_out = max(schema.min_input, 1 if schema.max_input else 0), max(schema.min_output, 1)
            ins, outs = [f"x{i}" for i in range(n_in)], [f"y{i}" for i in range(n_out)]
            graph = helper.make_graph([helper.make_node(schema.name, ins, outs)], "g",
                                      [helper.make_tensor_value_info(n, FLOAT, [1]) for n in ins],
                                      [helper.make_tensor_value_info(n, FLOAT, [1]) for n in outs])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", schema.since_version)])
            onnx.version_converter.convert_version(model, schema.since_version - 1)
        except Exception as e:
            answer = b"y" if "No Adapter" in str(e) else b"n"
        os.write(write, answer)
        os._exit(0)
    os.close(write)
    answer = os.read(read, 1)
    os.close(read)
    os.waitpid(child, 0)
    return answer == b"y"


def main():
    results = sys.argv[1]
    import onnx.version_converter
    rows = collections.defaultdict(list)  # operator: versions that start a row
    schemas = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            rows[schema.name].append(schema.since_version)
            schemas[schema.name, schema.since_version] = schema
    missing = sorted(k for k, s in schemas.items() if k[1] > min(rows[k[0]]) and lacks(s))
    works, refused = collections.Counter(), collections.Counter()
    for line in open(results):
        case, opset, version, fate, steps, operators = json.loads(line)
        for op, start, _ in steps:
            refused[op, start] += 1
        if fate != "equal" or version > opset:
            continue
        for op in set(operators):
            for start in rows[op]:
                if version < start <= opset:
                    works[op, start] += 1
    fates = collections.Counter()
    by_step = collections.defaultdict(list)
    for key in missing:
        fate = "works" if works[key] else "refused" if refused[key] else "not seen"
        fates[fate] += 1
        by_step[key[1]].append(key[0] + ("" if works[key] else f" ({fate})"))
    print(f"onnx {onnx.__version__} lacks {len(missing)} downward steps of ai.onnx; here: {dict(fates)}")
    for start in sorted(by_step, reverse=True):
        print(f"{start} to {start - 1}: " + ", ".join(by_step[start]))


if __name__ == "__main__":
    main()
