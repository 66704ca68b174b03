#!/usr/bin/env python3
"""Converts the oracle's models for old releases of onnxruntime, loads and runs the results there, and compares outputs.

    scripts/convert_releases.py [--tool T] [--cache C] [--min-size MB] [--max-size MB] [--filter TEXT,...] [--opsets 17-20] [VERSION...]

Needs numpy and onnx. C/cpu/VERSION are unpacked wheels, as for target_probe.py; by default 1.8.1, 1.12.1 and 1.16.3. Each model
ends as one of: equal (its test data's outputs, within its tolerance), refused (what blocks it is told), fails (the release does not
load or run what we made), wrong (other outputs). Exit status 1 when one fails or is wrong."""
import argparse
import collections
import glob
import json
import os
import pickle
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

from target_probe import environment

ORACLE = os.path.expanduser("~/.cache/onnxtool-oracle/models")
WORKER = r"""
import pickle, sys
import numpy, onnxruntime as ort
options = ort.SessionOptions()
options.log_severity_level = 4
options.intra_op_num_threads = 1
for line in sys.stdin:
    model, given, out = line.rstrip("\n").split("\t")
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        x = dict(numpy.load(given, allow_pickle=True))
        x = {i.name: x[i.name] for i in session.get_inputs() if i.name in x}
        x = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in x.items()}
        y = [v if isinstance(v, numpy.ndarray) else list(v) for v in session.run(None, x)]
        pickle.dump([v.astype(str).tolist() if isinstance(v, numpy.ndarray) and v.dtype == object else v for v in y], open(out, "wb"))
        print("ok", flush=True)
    except Exception as e:
        print("no", str(e).replace("\n", " ")[:300], flush=True)
"""


def load(path, type=""):
    data = open(path, "rb").read()
    if type.startswith("optional"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    try:
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    except Exception:
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))


def far(a, b):
    """Largest difference over the largest value; of what is no float the share that differs."""
    if isinstance(b, list) or isinstance(a, list):
        a, b = list(a), list(b)
        return max((far(x, y) for x, y in zip(a, b)), default=0) if len(a) == len(b) else float("inf")
    if isinstance(a, dict) or isinstance(b, dict) or isinstance(a, (str, float, int)):
        return 0.0  # maps: their numbers stand in another output
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape:
        return float("inf")
    if b.size == 0:
        return 0.0
    if b.dtype.kind not in "fc":
        return float((a.astype(str) != b.astype(str)).mean()) if b.dtype.kind in "OUS" else float((a != b).mean())
    a, b = a.astype(float), b.astype(float)
    top = numpy.abs(b[numpy.isfinite(b)]).max(initial=0) or 1.0
    d = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, numpy.abs(a - b))
    return float(numpy.nan_to_num(d, nan=numpy.inf).max() / top)


def convert(tool, model, version, out):
    """"" or what blocks it."""
    done = subprocess.run([tool, "convert-opset", model, "--target", f"onnxruntime={version}", "--no-verify", "-o", out, "-f", "json"],
                          capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    try:
        return "; ".join(sorted({f'{n["op_type"]}: {n["reason"]}' for n in json.loads(done.stdout)["blocked"]}))
    except (ValueError, KeyError):
        return done.stderr.strip()


def give(folder, path):
    x = {}
    for k, given in enumerate(json.load(open(f"{folder}/meta.json"))["inputs"]):
        name, file = given["name"], f"{folder}/test_data_set_0/input_{k}.pb"
        if os.path.exists(file):
            v = load(file, str(given["type"]))
            x[name] = v.astype(str) if getattr(v, "dtype", None) == object else v
    numpy.savez(path, **x)


def judge_release(args, version, folders, scratch):
    python, env = environment(args.cache, version)
    worker = subprocess.Popen([python, "-c", WORKER], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    counts = collections.Counter()
    for folder in folders:
        name, meta = os.path.basename(folder), json.load(open(f"{folder}/meta.json"))
        here = tempfile.mkdtemp(dir=scratch)
        blocked = convert(args.tool, f"{folder}/model.onnx", version, f"{here}/model.onnx")
        if blocked:
            fate, why = "refused", blocked[:300]
        else:
            give(folder, f"{here}/in.npz")
            worker.stdin.write(f"{here}/model.onnx\t{here}/in.npz\t{here}/out.pkl\n")
            worker.stdin.flush()
            answer = worker.stdout.readline().strip()
            if not answer:
                fate, why = "fails", "crash"
                worker = subprocess.Popen([python, "-c", WORKER], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            elif answer != "ok":
                fate, why = "fails", answer[3:]
            else:
                y = pickle.load(open(f"{here}/out.pkl", "rb"))
                expected = [load(f) for f in sorted(glob.glob(f"{folder}/test_data_set_0/output_*.pb"),
                                                     key=lambda f: int(f.rsplit("_", 1)[1][:-3])) ]
                worst = max((far(a, b) for a, b in zip(y, expected)), default=0)
                fate, why = ("equal", "") if worst <= meta.get("tolerance", 1e-3) else ("wrong", f"departs by {worst:.3g}")
        subprocess.run(["rm", "-rf", here], check=False)
        counts[fate] += 1
        if args.list:
            print(f"    {version} {name}: {fate}", flush=True)
        if why:
            print(f"    {version} {name}: {fate}: {why}", flush=True)
    worker.stdin.close()
    worker.wait()
    print(f"{version}: {dict(sorted(counts.items()))}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/release/onnxtool")
    parser.add_argument("--cache", default="/work/targets-cache")
    parser.add_argument("--max-size", type=float, default=1e9, metavar="MB")
    parser.add_argument("--min-size", type=float, default=0, metavar="MB")
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--opsets", default="17-20")
    parser.add_argument("versions", nargs="*")
    args = parser.parse_args()
    first, last = (int(n) for n in args.opsets.split("-"))
    folders = []
    for folder in sorted(glob.glob(ORACLE + "/*")):
        if not os.path.exists(folder + "/meta.json"):
            continue
        opset = json.load(open(folder + "/meta.json"))["opset"]
        size = sum(os.path.getsize(f) for f in glob.glob(folder + "/model.onnx*")) / 1e6
        if first <= opset.get("", opset.get("ai.onnx", 0)) <= last and args.min_size <= size <= args.max_size and any(
                t in folder for t in args.filter.split(",")):
            folders.append((size, folder))
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for version in args.versions or ["1.8.1", "1.12.1", "1.16.3"]:
            counts = judge_release(args, version, [folder for _, folder in sorted(folders)], scratch)
            bad += counts["fails"] + counts["wrong"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
