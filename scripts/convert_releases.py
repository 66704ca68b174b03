#!/usr/bin/env python3
"""Converts the oracle's models for old releases of onnxruntime, loads and runs the results there, and compares outputs.

    scripts/convert_releases.py [--tool T] [--cache C] [--min-size MB] [--max-size MB] [--filter TEXT,...] [--opsets 17-20] [VERSION...]

Needs numpy and onnx. C/cpu/VERSION are unpacked wheels, as for target_probe.py; by default 1.8.1, 1.12.1 and 1.16.3. Each model
ends as one of: equal (its test data's outputs, within its tolerance), plain (equal, but only without the release's own
optimizations: what they break is told), refused (what blocks it is told), fails (the release does not load or run what we made),
wrong (other outputs). Exit status 1 when one fails or is wrong."""
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
for line in sys.stdin:
    model, given, out, plain = line.rstrip("\n").split("\t")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if plain == "plain":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        x = dict(numpy.load(given, allow_pickle=True))
        x = {i.name: x[i.name] for i in session.get_inputs() if i.name in x}
        x = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in x.items()}
        y = session.run(None, x)
        if any(v is None for v in y):
            raise ValueError("an output is missing")
        y = [v if isinstance(v, numpy.ndarray) else list(v) for v in y]
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


def far(a, b, measure):
    """Largest difference over the largest value, or the relative root mean square ("rms"); of what is no float the share that differs."""
    if isinstance(b, list) or isinstance(a, list):
        a, b = list(a), list(b)
        return max((far(x, y, measure) for x, y in zip(a, b)), default=0) if len(a) == len(b) else float("inf")
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
    size = numpy.abs(b[numpy.isfinite(b)])
    d = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, numpy.abs(a - b))
    d = numpy.nan_to_num(d, nan=numpy.inf)
    if measure == "rms":
        return float(numpy.sqrt((d**2).mean()) / (numpy.sqrt((size**2).mean()) if size.any() else 1.0))
    return float(d.max() / (size.max(initial=0) or 1.0))


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


class Release:
    """A release that loads and runs models in a process of its own, which is started again when it crashes."""

    def __init__(self, cache, version):
        self.python, self.env = environment(cache, version)
        self.start()

    def start(self):
        self.worker = subprocess.Popen([self.python, "-c", WORKER], env=self.env, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def judge(self, here, folder, meta, plain):
        """(fate, why) of here/model.onnx"""
        self.worker.stdin.write(f"{here}/model.onnx\t{here}/in.npz\t{here}/out.pkl\t{plain}\n")
        self.worker.stdin.flush()
        answer = self.worker.stdout.readline().strip()
        if answer != "ok":
            if not answer:
                self.start()
            return "fails", answer[3:] or "crash"
        with open(f"{here}/out.pkl", "rb") as file:
            y = pickle.load(file)
        expected = [load(f) for f in sorted(glob.glob(f"{folder}/test_data_set_0/output_*.pb"),
                                            key=lambda f: int(f.rsplit("_", 1)[1][:-3]))]
        worst = max((far(a, b, meta.get("measure")) for a, b in zip(y, expected)), default=0)
        return ("equal", "") if worst <= meta.get("tolerance", 1e-3) else ("wrong", f"departs by {worst:.3g}")

    def end(self):
        self.worker.stdin.close()
        self.worker.wait()


def judge_model(args, version, release, folder, here):
    with open(f"{folder}/meta.json") as file:
        meta = json.load(file)
    blocked = convert(args.tool, f"{folder}/model.onnx", version, f"{here}/model.onnx")
    if blocked:
        return "refused", blocked[:300]
    give(folder, f"{here}/in.npz")
    fate, why = release.judge(here, folder, meta, "")
    if fate != "equal" and release.judge(here, folder, meta, "plain")[0] == "equal":
        return "plain", "with its optimizations: " + why
    return fate, why


def judge_release(args, version, folders, scratch):
    release = Release(args.cache, version)
    counts = collections.Counter()
    for folder in folders:
        name = os.path.basename(folder)
        here = tempfile.mkdtemp(dir=scratch)
        fate, why = judge_model(args, version, release, folder, here)
        subprocess.run(["rm", "-rf", here], check=False)
        counts[fate] += 1
        if args.list or why:
            print(f"    {version} {name}: {fate}" + (f": {why}" if why else ""), flush=True)
    release.end()
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
