#!/usr/bin/env python3
"""Holds the figures of `onnxtool parity QUANTIZED FLOAT --layers` against onnxruntime's qdq_loss_debug.

    compare_qdq_debug.py TOOL FLOAT.onnx INPUTS.npz [QUANTIZED.onnx] [--samples N] [--same-values | --one-ulp]

INPUTS.npz holds an array an input whose leading dimension counts samples. Without QUANTIZED.onnx the tool quantizes the model with
the first half of them. For each tensor that both judge, own error (before against after Q and DQ) and accumulated error (the float
model against after DQ) are compared in decibels; peak memory of both is measured, each in a process of its own.
With --same-values ours judges what onnxruntime computes, as qdq_loss_debug does (--engine): else each rounds on its own, and codes
near a tie differ. Memory is then not ours alone.
With --one-ulp the tool stays out of it: qdq_loss_debug is held against itself, on a quantized model whose products are each times
1 + 2^-23. How far its figures move is what any other order of summation may move them by.
Prints a line a model: tensors compared, largest difference of either, peak memory. Exit code 1 if one differs by more than 0.1 dB.
Needs onnxruntime, onnx, numpy and time(1).
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ALLOWED_DB = 0.1


def peak_of(command, **options):
    """Runs it; standard output and the peak of its resident memory in kilobytes. By time(1): a child of this process would begin with
    this one's memory counted."""
    with tempfile.NamedTemporaryFile("r") as report:
        run = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", report.name, *command], stdout=subprocess.PIPE, **options)
        if run.returncode not in (0, 1):  # 1: it differs
            sys.exit(f"{command[0]}: exit code {run.returncode}")
        return run.stdout, int(report.read().split()[-1])


def write_nudged(path, model_path):
    """The model with each product times the float behind 1."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(model_path)
    outputs, nodes = {o.name for o in model.graph.output}, []
    for node in model.graph.node:
        nodes.append(node)
        if node.op_type in ("Conv", "MatMul", "Gemm") and node.output[0] not in outputs:
            name = node.output[0]
            node.output[0] = f"{name}_before"
            nodes.append(helper.make_node("Mul", [node.output[0], "one_ulp_more"], [name]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(numpy_helper.from_array(np.nextafter(np.float32(1), np.float32(2)), "one_ulp_more"))
    onnx.save(model, path)


def theirs(float_path, quantized_path, inputs_path):
    """In a process of its own: prints {tensor: [own, accumulated]}."""
    from onnxruntime.quantization import CalibrationDataReader, qdq_loss_debug as debug

    class Reader(CalibrationDataReader):
        def __init__(self):
            arrays = dict(np.load(inputs_path))
            n = len(next(iter(arrays.values())))
            self.rows = iter([{k: v[i] for k, v in arrays.items()} for i in range(n)])

        def get_next(self):
            return next(self.rows, None)

    with tempfile.TemporaryDirectory() as folder:
        seen = []
        for path in (float_path, quantized_path):
            more = os.path.join(folder, "more.onnx")
            debug.modify_model_output_intermediate_tensors(path, more)
            seen.append(debug.collect_activations(more, Reader()))
    errors = debug.compute_activation_error(debug.create_activation_matching(seen[1], seen[0]))
    print(json.dumps({k: [float(v["qdq_err"]), float(v.get("xmodel_err", math.nan))] for k, v in errors.items()}))


SAME_VALUES = ["--engine", "onnxruntime", "--engine-options", '{"optimization": "disable"}']


def ours(tool, float_path, quantized_path, inputs_path, more):
    command = [tool, "parity", quantized_path, float_path, "--layers", "-i", inputs_path, "-f", "json", "-q", *more]
    output, peak = peak_of(command, stderr=subprocess.DEVNULL, env={"ONNXTOOL_PYTHON": sys.executable, **os.environ})
    figures = {}
    for layer in json.loads(output)["layers"]:
        if "qdq_sqnr_db" in layer:
            figures[layer["b"]] = [layer["qdq_sqnr_db"], layer["xmodel_sqnr_db"]]
    return figures, peak


def write_samples(path, source, begin, end):
    """Each sample with a batch of one."""
    np.savez(path, **{k: v[begin:end, None] for k, v in np.load(source).items()})


def apart(x, y):
    """Decibels between two figures; what is exact is over 300 there, Infinity here."""
    x, y = float(x or "nan"), float(y or "nan")
    return 0.0 if min(x, y) > 300 else abs(x - y)


def main():
    if sys.argv[1:2] == ["--theirs"]:
        theirs(*sys.argv[2:5])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("quantized", nargs="?")
    parser.add_argument("--samples", type=int, default=64)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--same-values", action="store_true")
    how.add_argument("--one-ulp", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        inputs, quantized = os.path.join(folder, "inputs.npz"), options.quantized
        write_samples(inputs, options.inputs, 0, options.samples)
        if not quantized:
            quantized, calibration = os.path.join(folder, "q.onnx"), os.path.join(folder, "c.npz")
            write_samples(calibration, options.inputs, options.samples // 2, 2 * options.samples)
            subprocess.run([options.tool, "quantize-static", options.model, "-o", quantized, "--calibration", calibration, "-q"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if options.one_ulp:
            nudged = os.path.join(folder, "nudged.onnx")
            write_nudged(nudged, quantized)
            output, our_peak = peak_of([sys.executable, __file__, "--theirs", options.model, nudged, inputs])
            mine = json.loads(output.splitlines()[-1])
        else:
            mine, our_peak = ours(options.tool, options.model, quantized, inputs, SAME_VALUES if options.same_values else [])
        output, their_peak = peak_of([sys.executable, __file__, "--theirs", options.model, quantized, inputs])
        other = json.loads(output.splitlines()[-1])
    both = sorted(set(mine) & set(other))
    largest = [max((apart(mine[k][i], other[k][i]) for k in both), default=math.nan) for i in (0, 1)]
    print(f"{pathlib.Path(options.model).parent.name}: {len(both)} tensors of {len(mine)} ours, {len(other)} theirs; own error differs by at most "
          f"{largest[0]:.4f} dB, accumulated by {largest[1]:.4f} dB; peak {our_peak / 1024:.1f} MB against {their_peak / 1024:.1f} MB")
    for k in both:
        if not all(apart(x, y) <= ALLOWED_DB for x, y in zip(mine[k], other[k])):
            print(f"    {k}: ours {mine[k]}, theirs {other[k]}")
    return 0 if both and max(largest) <= ALLOWED_DB else 1


if __name__ == "__main__":
    sys.exit(main())
