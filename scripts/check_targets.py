"""Holds `check --target onnxruntime=V` against what release V does when it really loads the model.

usage: check_targets.py [--tool T] [--cache C] [--n 200] [--seed 1] [--models DIR] [--list] [VERSION...]

Models: a sample of the ONNX suite and of the oracle's trained models (all of them with --n 0), or those of the folders in DIR. C/cpu/VERSION are unpacked wheels
and C/deps their numpy, as for target_probe.py. Each model is loaded as users load it: default optimizations, cpu provider.
"wrong loads" is what must not be: we say it loads, the release refuses it. "wrong refusal": the other way round.
"not judged": what this machine lacks keeps the release from loading it. Exit 1 if there is a wrong loads.
"""

import argparse
import collections
import glob
import json
import os
import random
import subprocess
import sys

from target_probe import environment

ORACLE = os.path.expanduser("~/.cache/onnxtool-oracle")
# Refusals that are this machine's, not the release's: it lacks the locale that a model names.
MACHINE = ("Failed to construct locale",)
LOAD = r"""
import sys
import onnxruntime as ort
options = ort.SessionOptions()
options.log_severity_level = 4
options.intra_op_num_threads = 1
for line in sys.stdin:
    path = line.rstrip("\n")
    print("@", flush=True)
    try:
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        print("ok", flush=True)
    except Exception as e:
        print("no", str(e).replace("\n", " ")[:400], flush=True)
"""


def really(cache, version, models):
    """[(loads, message)]; a crash is a refusal."""
    python, env = environment(cache, version)
    out = []
    while len(out) < len(models):
        done = subprocess.run([python, "-c", LOAD], input="".join(m + "\n" for m in models[len(out):]), env=env,
                              text=True, capture_output=True)
        lines = done.stdout.splitlines()
        out += [(l.startswith("ok"), l[3:]) for l in lines if not l.startswith("@")]
        if lines and lines[-1].startswith("@"):
            out.append((False, f"crash: {done.returncode}"))
        elif not lines:
            raise SystemExit(f"{version}: {done.stderr[-500:]}")
    return out


def ours(tool, versions, models):
    """{version: [(loads, message)]}"""
    targets = [f"--target=onnxruntime={v}" for v in versions]
    done = subprocess.run([tool, "check", "-f", "json", "--severity", "error", *targets, "--files-from", "-"],
                          input="\n".join(models) + "\n", text=True, capture_output=True)
    out = {v: [] for v in versions}
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(models):
        raise SystemExit(f"{len(answers)} answers for {len(models)} models: {done.stderr[-500:]}")
    for answer in answers:
        for version, verdict in zip(versions, answer["targets"]):
            reasons = [r["reason"] for r in verdict["reasons"]]
            reasons += [f'{n["op_type"]}: {n["reason"]}' for n in verdict["unsupported"]]
            out[version].append((verdict["loads"], "; ".join(reasons)[:300]))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="build/release/onnxtool")
    parser.add_argument("--cache", default="/work/targets-cache")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", metavar="DIR")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("versions", nargs="*")
    args = parser.parse_args()
    versions = args.versions or sorted(os.listdir(f"{args.cache}/cpu"), key=lambda v: [int(x) for x in v.split(".")])
    suite = sorted(glob.glob(f"{ORACLE}/suite-*/*/*/model.onnx"))
    trained = sorted(glob.glob(f"{ORACLE}/models/*/model.onnx")) or sorted(glob.glob(f"{ORACLE}/models/*/*.onnx"))
    trained = [m for m in trained if os.path.getsize(m) < 50e6]
    pick = random.Random(args.seed)
    models = suite + trained
    if args.models:
        models = sorted(glob.glob(f"{args.models}/*/model.onnx"))
    elif args.n:
        models = pick.sample(suite, args.n * 3 // 4) + pick.sample(trained, args.n - args.n * 3 // 4)
    said = ours(args.tool, versions, models)
    worst = 0
    for version in versions:
        did = really(args.cache, version, models)
        counts, wrong = collections.Counter(), []
        for model, (a, why), (b, message) in zip(models, said[version], did):
            kind = ("wrong loads" if a else "wrong refusal") if a != b else ("loads" if a else "refused")
            if not b and any(text in message for text in MACHINE):
                kind = "not judged"
            counts[kind] += 1
            if kind.startswith("wrong"):
                wrong.append((kind, model, why, message))
        print(f"{version}: {dict(sorted(counts.items()))}", flush=True)
        for kind, model, why, message in wrong if args.list else []:
            print(f"    {kind}: {os.path.basename(os.path.dirname(model))}\n        ours: {why}\n        there: {message}")
        worst |= counts["wrong loads"] > 0
    sys.exit(worst)


if __name__ == "__main__":
    main()
