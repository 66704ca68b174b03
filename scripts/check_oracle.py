#!/usr/bin/env python3
"""Holds `onnxtool run --oracle` against float64 arithmetic of numpy: onnx's reference evaluator made to compute in double.

The evaluator runs in the types that it is given, but for places where it names float32 itself. So the model's float32, float16 and bfloat16
(inputs, weights, constants, attributes, types that nodes ask for) are widened to float64, defaults of attributes are written out as the
float32 that a file would hold, and in the evaluator's own modules the name float32 is made to mean float64. Both then see the same numbers.

The measure, a float output: the largest difference over the largest expected value of that output. Integers, strings and shapes are
equal. Where a value passes a step (a rounding, a comparison, an index) both see the same side of it or the case is listed.

  check_oracle.py [--tool PATH] [--bound 1e-12] [--filter REGEX] [--timeout S] [--json FILE] FOLDER...

Cases that are in FILE already are not run again.

A FOLDER holds model.onnx and test_data_set_0 (or is above such folders). Exit code 0: every case that the evaluator runs is within the
bound; 1: one is not; 2: nothing could be judged.
"""
import argparse
import collections
import glob
import importlib
import json
import multiprocessing
import os
import pkgutil
import re
import resource
import subprocess
import sys
import tempfile
import types

import numpy
import onnx
import onnx.inliner
import onnx.reference
import onnx.reference.op_run
import onnx.reference.ops
from onnx import TensorProto, numpy_helper

import oracle_operators

NARROW = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
NARROW_NAMES = {"float32", "float16", "bfloat16"}
# Attributes that name a type to compute in or to give.
# (A stash_type of 1 is float32 by name, which means float64 in the evaluator's modules.)
TYPE_ATTRIBUTES = {"to", "dtype", "softmax_precision", "output_datatype"}
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}


class Wide(types.ModuleType):
    """numpy, in which float32 is float64."""

    def __init__(self):
        super().__init__("numpy")
        self.float32 = numpy.float64

    def __getattr__(self, name):
        return getattr(numpy, name)

    @staticmethod
    def vectorize(function, otypes=None, **rest):
        return numpy.vectorize(function, otypes=["d"] if otypes == ["f"] else otypes, **rest)


def widen_evaluator():
    wide = Wide()
    packages = [onnx.reference.ops]
    modules = [onnx.reference.op_run]
    for package in packages:
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            modules.append(importlib.import_module(info.name))
    for module in modules:
        if getattr(module, "np", None) is numpy:
            module.np = wide


def widen_tensor(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(numpy.float64), tensor.name))


def widen_type(proto):
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        holder = getattr(proto, kind)
        if holder.elem_type in NARROW:
            holder.elem_type = TensorProto.DOUBLE
    elif kind in ("sequence_type", "optional_type"):
        widen_type(getattr(proto, kind).elem_type)
    elif kind == "map_type":
        widen_type(proto.map_type.value_type)


def add_defaults(node, opset):
    """Defaults as files hold them: float32."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return
    there = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        if name not in there and (default.type == onnx.AttributeProto.FLOAT or (default.type == onnx.AttributeProto.INT and name in TYPE_ATTRIBUTES)):
            node.attribute.add().CopyFrom(default)


def widen_node(node, opset):
    add_defaults(node, opset)
    for attribute in node.attribute:
        if attribute.type == attribute.TENSOR:
            widen_tensor(attribute.t)
        elif attribute.type == attribute.SPARSE_TENSOR:
            widen_tensor(attribute.sparse_tensor.values)
        elif attribute.type == attribute.TYPE_PROTO:
            widen_type(attribute.tp)
        elif attribute.type == attribute.GRAPH:
            widen_graph(attribute.g, opset)
        elif attribute.type == attribute.INT and attribute.name in TYPE_ATTRIBUTES and attribute.i in NARROW:
            attribute.i = TensorProto.DOUBLE


def widen_graph(graph, opset):
    for value in [*graph.input, *graph.output, *graph.value_info]:
        widen_type(value.type)
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for tensor in graph.sparse_initializer:
        widen_tensor(tensor.values)
    for node in graph.node:
        widen_node(node, opset)


def add_function_defaults(model):
    """The inliner forgets the defaults that functions give their attributes."""
    defaults = {(function.domain, function.name): function.attribute_proto for function in model.functions}
    for node in [*nodes_of(model.graph), *(node for function in model.functions for node in function.node)]:
        there = {attribute.name for attribute in node.attribute}
        node.attribute.extend(default for default in defaults.get((node.domain, node.op_type), ()) if default.name not in there)


def widen_model(model):
    opset = {entry.domain: entry.version for entry in model.opset_import}
    widen_graph(model.graph, opset)


def widen(value):
    if isinstance(value, list):
        return [widen(element) for element in value]
    return value.astype(numpy.float64) if hasattr(value, "dtype") and value.dtype.name in NARROW_NAMES else value


def read_value(path, proto):
    with open(path, "rb") as file:
        data = file.read()
    kind = proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(TensorProto.FromString(data))


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                yield from nodes_of(attribute.g)


def inputs_of(folder, model):
    """(name, path, type) of what the test data give."""
    inits = {tensor.name for tensor in model.graph.initializer}
    for index, value in enumerate(v for v in model.graph.input if v.name not in inits):
        path = os.path.join(folder, "test_data_set_0", f"input_{index}.pb")
        if os.path.exists(path):
            yield value.name, path, value.type


def expected_of(folder, model):
    """{name: value} of the outputs in float64; raises what the evaluator raises or where it departs from the test data's shapes."""
    nodes = list(nodes_of(model.graph))
    if any(node.op_type in RANDOM for node in nodes):
        raise NotImplementedError("random numbers")
    feeds = {name: widen(read_value(path, proto)) for name, path, proto in inputs_of(folder, model)}
    widen_model(model)
    results = onnx.reference.ReferenceEvaluator(model, new_ops=oracle_operators.operators(model)).run(None, feeds)
    for index, (value, result) in enumerate(zip(model.graph.output, results)):
        if value.type.WhichOneof("value") == "optional_type":
            raise NotImplementedError("optional outputs")
        if value.type.HasField("tensor_type"):
            wanted = read_value(os.path.join(folder, "test_data_set_0", f"output_{index}.pb"), value.type).shape
            if wanted != result.shape:
                raise ValueError(f"the evaluator's own shape is {result.shape} instead of {wanted}")
    return {value.name: result for value, result in zip(model.graph.output, results)}


def flat(name, value, into):
    """As the tool names the arrays of a sequence or a map."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for index, element in enumerate(value):
            into[f"{name}[{index}].keys"] = numpy.array(list(element.keys()))
            into[f"{name}[{index}].values"] = numpy.array(list(element.values()))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            flat(f"{name}[{index}]", element, into)
    elif value is not None:
        into[name] = numpy.asarray(value)


def error_of(expected, actual):
    """Relative to the largest expected value; raises where there is more than an error."""
    if expected.shape != actual.shape:
        raise ValueError(f"shape {actual.shape} instead of {expected.shape}")
    if expected.dtype.kind in "OUST":
        if not all(str(a) == (b.decode() if isinstance(b, bytes) else str(b)) for a, b in zip(expected.ravel(), actual.ravel())):
            raise ValueError("other strings")
        return 0.0
    if actual.dtype.kind == "V" and actual.dtype.itemsize == expected.dtype.itemsize:
        actual = actual.view(expected.dtype)
    kind = numpy.complex128 if expected.dtype.kind == "c" else numpy.float64
    e, a = expected.astype(kind), actual.astype(kind)
    finite = numpy.isfinite(e)
    if not numpy.array_equal(e[~finite], a[~finite], equal_nan=True) or not numpy.all(numpy.isfinite(a[finite])):
        raise ValueError("other NaN or infinities")
    if not finite.any():
        return 0.0
    error = float(numpy.max(numpy.abs(e[finite] - a[finite])))
    if expected.dtype.kind not in "fc" and expected.dtype.kind != "V" and error:
        raise ValueError(f"integers differ by {error:g}")
    return error / max(float(numpy.max(numpy.abs(e[finite]))), 1e-300)


def judge(tool, folder):
    """(status, error or reason): judged, refused by the evaluator, failed."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    if model.functions:
        add_function_defaults(model)
        model = onnx.inliner.inline_local_functions(model)
    given = [part for name, path, _ in inputs_of(folder, model) for part in ("-i", f"{name}={path}")]
    try:
        expected = {}
        for name, value in expected_of(folder, model).items():
            flat(name, value, expected)
    except Exception as reason:  # pylint: disable=broad-except
        return "evaluator", f"{type(reason).__name__}: {str(reason)[:160]}"
    with tempfile.TemporaryDirectory() as out:
        path = os.path.join(out, "out.npz")
        command = [tool, "run", os.path.join(folder, "model.onnx"), *given, "--oracle", "-q", "-o", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not os.path.exists(path):
            return "failed", f"exit {done.returncode}: {done.stderr.strip()[:160]}"
        with numpy.load(path) as file:
            actual = {name: file[name] for name in file.files}
    worst = 0.0
    for name, value in expected.items():
        if name not in actual:
            return "failed", f"no output {name}"
        try:
            worst = max(worst, error_of(value, actual[name]))
        except ValueError as reason:
            return "failed", f"{name}: {reason}"
    return "judged", worst


def in_a_process(tool, folder, timeout):
    """One process a case: a model may take all memory or time."""
    receive, send = multiprocessing.Pipe(False)

    def work():
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
        send.send(judge(tool, folder))

    process = multiprocessing.Process(target=work)
    process.start()
    answer = ("evaluator", f"not done within {timeout:g} s")
    if receive.poll(timeout):
        try:
            answer = receive.recv()
        except EOFError:
            answer = ("evaluator", "its process ended")
    process.kill()
    process.join()
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--tool", default=os.environ.get("ONNXTOOL", "build/release/onnxtool"))
    parser.add_argument("--bound", type=float, default=1e-12)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--json")
    args = parser.parse_args()
    widen_evaluator()
    cases = sorted({os.path.dirname(path) for folder in args.folders for path in glob.glob(os.path.join(folder, "**", "model.onnx"), recursive=True)})
    tally = collections.Counter()
    done = {}
    if args.json and os.path.exists(args.json):
        with open(args.json, encoding="utf-8") as file:
            done = {row["case"]: row for row in map(json.loads, file)}
    log = open(args.json, "a", encoding="utf-8") if args.json else None
    for case in cases:
        if not re.search(args.filter, case) or not os.path.isdir(os.path.join(case, "test_data_set_0")):
            continue
        if case in done:
            status, what = done[case]["status"], done[case]["what"]
        else:
            status, what = in_a_process(args.tool, case, args.timeout)
        if status == "judged":
            status = "within" if what <= args.bound else "beyond"
        tally[status] += 1
        if status in ("beyond", "failed"):
            print(f"{status} {case}: {what}")
        if log and case not in done:
            print(json.dumps({"case": case, "status": status, "what": what}), file=log, flush=True)
    print(f"oracle: {tally['within']} within {args.bound:g}, {tally['beyond']} beyond, {tally['failed']} failed; {tally['evaluator']} not run by the evaluator")
    judged = tally["within"] + tally["beyond"] + tally["failed"]
    return 2 if not judged else int(tally["within"] != judged)


if __name__ == "__main__":
    sys.exit(main())
