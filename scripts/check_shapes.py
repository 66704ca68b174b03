#!/usr/bin/env python3
"""Holds `onnxtool shape-infer` against what exported models really are.

For each folder with model.onnx and test_data_set_0 (as the oracle's models.py builds them):
  - as the file stands no dimension may be unknown: numbers, the file's own names, or symbols that say where they are from;
  - with the test data's sizes given by --input, each dimension of each value that onnxruntime computes (optimizations off, every node
    output an output) must be inferred equal, or be a symbol that names the data that tell it (ours, or the file's own).
Exit code 0: so it is; 1: it is not, each case is listed; 2: nothing could be judged.

  check_shapes.py [--tool PATH] [--json FILE] FOLDER...
"""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys

import numpy
import onnx
import onnxruntime




def infer(tool, model, sizes):
    """{name: (type, shape)} of the main graph and the number of all values that are not known in full."""
    command = [tool, "shape-infer", "-q", "-f", "json", model]
    for name, dims in sizes.items():
        command += ["--input", f"{name}={'x'.join(map(str, dims))}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[:300]}")
    answer = json.loads(done.stdout)
    open_values = [f"{v['graph']}:{v['name']}" for v in answer["values"] if v["type"] is None or ("(" not in v["type"] and (v["shape"] is None or None in v["shape"]))]
    return {v["name"]: v["shape"] for v in answer["values"] if not v["graph"]}, open_values, len(answer["values"])


def load_inputs(model, folder):
    """The test data of the graph's inputs, in order; only tensors."""
    inits = {t.name for t in model.graph.initializer}
    feeds = {}
    values = [value for value in model.graph.input if value.name not in inits]
    for index, value in enumerate(values):
        path, name = os.path.join(folder, f"input_{index}.pb"), value.name
        if os.path.exists(path) and value.type.HasField("tensor_type"):
            tensor = onnx.TensorProto()
            with open(path, "rb") as file:
                tensor.ParseFromString(file.read())
            feeds[name] = onnx.numpy_helper.to_array(tensor)
    return feeds


def real_shapes(path, model, feeds):
    """{name: shape} of all tensors that the main graph's nodes make."""
    made = [name for node in model.graph.node for name in node.output if name]
    there = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in there)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    temporary = os.path.join(os.path.dirname(path), f".check_shapes.{os.getpid()}.onnx")  # beside its external data
    onnx.save(model, temporary)
    try:
        session = onnxruntime.InferenceSession(temporary, options, providers=["CPUExecutionProvider"])
        values = session.run(None, feeds)
        names = [output.name for output in session.get_outputs()]
    finally:
        os.remove(temporary)
    return {name: list(value.shape) for name, value in zip(names, values) if isinstance(value, (numpy.ndarray, numpy.generic))}


def check_model(tool, folder):
    """(counts, faults) of one folder."""
    counts, faults = collections.Counter(), []
    path = os.path.join(folder, "model.onnx")
    _, open_values, total = infer(tool, path, {})
    counts["values"] += total
    faults += [f"not known in full: {value}" for value in open_values]
    model = onnx.load(path, load_external_data=False)
    feeds = load_inputs(model, os.path.join(folder, "test_data_set_0"))
    sizes = {name: value.shape for name, value in feeds.items() if value.ndim}
    ours, _, _ = infer(tool, path, sizes)
    try:
        real = real_shapes(path, model, feeds)
    except Exception as error:  # onnxruntime's own exceptions share no base
        counts["not run"] += 1
        return counts, faults, f"onnxruntime does not run it: {str(error).strip()[:120]}"
    for name, shape in real.items():
        mine = ours.get(name)
        if mine is None or len(mine) != len(shape):
            faults.append(f"{name}: inferred {mine}, really {shape}")
            continue
        for own, truth in zip(mine, shape):
            kind = "equal" if own == truth else "named" if isinstance(own, str) else "wrong"
            counts[kind] += 1
            if kind == "wrong":
                faults.append(f"{name}: inferred {mine}, really {shape}")
    return counts, faults, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--tool", default=os.environ.get("ONNXTOOL", "build/release/onnxtool"))
    parser.add_argument("--json", metavar="FILE", help="a line a model")
    args = parser.parse_args()
    folders = [f for given in args.folders for f in sorted(glob.glob(given)) if os.path.exists(os.path.join(f, "model.onnx"))]
    totals, n_bad = collections.Counter(), 0
    for folder in folders:
        try:
            counts, faults, note = check_model(args.tool, folder)
        except RuntimeError as error:
            counts, faults, note = collections.Counter(), [str(error)], ""
        totals += counts
        n_bad += bool(faults)
        name = os.path.basename(folder.rstrip("/"))
        for fault in faults[:10]:
            print(f"{name}: {fault}")
        if note:
            print(f"{name}: note: {note}")
        sys.stdout.flush()
        if args.json:
            with open(args.json, "a", encoding="utf-8") as file:
                file.write(json.dumps({"name": name, "counts": counts, "faults": faults, "note": note}) + "\n")
    print(f"check_shapes: {len(folders)} models, {n_bad} with faults; {totals['values']} values; run: {totals['equal']} dimensions equal, "
          f"{totals['named']} named, {totals['wrong']} wrong; {totals['not run']} models not run")
    return 2 if not folders else 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
