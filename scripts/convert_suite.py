#!/usr/bin/env python3
"""Converts every model of ONNX's backend suite to other opsets and runs the results on the suite's data.

    scripts/convert_suite.py SUITE [--tool build/release/onnxtool] [--to 7-28] [--filter TEXT] [--list wrong|refused] [--jobs N]
        [--every N[:K]] [-O LEVEL]

SUITE is a folder of cases (a model.onnx and test_data_set_N each), at any depth. Each conversion ends as one of: equal (the
outputs agree with the suite's), refused (with the nodes that block it), or wrong. Exit status 1 when one is wrong. The
reference kernels run them (-O0; -O 2 for whole networks, which would take minutes each). lib/tests/test_convert_suite.c does the same in one process, in a minute; this is the command line's
own way there and back through files."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile


def cases(suite, text):
    for folder, folders, files in os.walk(suite):
        folders.sort()
        if "model.onnx" in files and text in folder:
            yield folder


def opset_of(tool, model):
    done = subprocess.run([tool, "convert-opset", model, "--to", "28", "--dry-run", "-f", "json"], capture_output=True)
    try:
        return json.loads(done.stdout)["from"]
    except (ValueError, KeyError):
        return {}


def data_sets(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("test_data_set_")]


def passes(tool, level, model, folder):
    worst = 0, ""
    for data in data_sets(folder):
        done = subprocess.run([tool, "run", "-O" + level, model, "--test-data", data, "--rtol", "1e-3", "--atol", "1e-6"],
                              capture_output=True)
        if done.returncode:
            worst = done.returncode, done.stderr.decode(errors="replace")[:600]
    return worst


def convert_case(args):
    tool, level, folder, versions = args
    model = os.path.join(folder, "model.onnx")
    opset = opset_of(tool, model).get("ai.onnx", 0)
    if not opset or passes(tool, level, model, folder)[0]:
        return folder, opset, []
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.onnx")
        for version in versions:
            if version == opset:
                continue
            done = subprocess.run([tool, "convert-opset", model, "--to", str(version), "--no-verify", "-o", out, "-f", "json"],
                                  capture_output=True)
            if done.returncode == 1:
                report = json.loads(done.stdout)
                why = ["%s: %s" % (row["op_type"], row["reason"]) for row in report["blocked"]]
                steps = [(row["op_type"], row["from"], row["to"]) for row in report["blocked"]]
                rows.append((version, "refused", why, steps))
            elif done.returncode:
                rows.append((version, "wrong", [done.stderr.decode(errors="replace")[:600]], []))
            else:
                code, why = passes(tool, level, out, folder)
                checked = subprocess.run([tool, "check", "--full", out], capture_output=True)
                if checked.returncode and not code:
                    code, why = 1, "check: " + checked.stdout.decode(errors="replace")[:400]
                rows.append((version, "wrong" if code else "equal", [why] if code else [], []))
    return folder, opset, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--tool", default="build/release/onnxtool")
    parser.add_argument("--to", default="7-28", help="versions: 7-28, or 9,11,13")
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", choices=["wrong", "refused"], action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-O", dest="level", default="0", choices=["0", "1", "2"], help="how the models are run")
    parser.add_argument("--every", default="1", metavar="N[:K]", help="of all conversions each N-th, beginning with number K")
    args = parser.parse_args()
    versions = []
    for part in args.to.split(","):
        first, _, last = part.partition("-")
        versions += range(int(first), int(last or first) + 1)
    counts = {"up": collections.Counter(), "down": collections.Counter()}
    refusals = collections.Counter()
    every, _, first = args.every.partition(":")
    take = lambda i, v: (i * len(versions) + v) % int(every) == int(first or 0)
    work = [(args.tool, args.level, folder, [version for v, version in enumerate(versions) if take(i, v)])
            for i, folder in enumerate(cases(args.suite, args.filter))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for folder, opset, rows in pool.map(convert_case, work):
            if not rows:
                counts["up"]["not run"] += 1
            for version, fate, why, steps in rows:
                counts["up" if version > opset else "down"][fate] += 1
                for step in set(steps):
                    refusals["%s %d to %d" % step] += 1
                if fate in args.list:
                    name = os.path.relpath(folder, args.suite)
                    print("%s %d to %d %s: %s" % (name, opset, version, fate, re.sub(r"\s+", " ", " | ".join(why))), flush=True)
    for direction in counts:
        print(direction, dict(sorted(counts[direction].items())))
    for step, n in refusals.most_common(60):
        print("refused at %s: %d" % (step, n))
    return 1 if counts["up"]["wrong"] or counts["down"]["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
