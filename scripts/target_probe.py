"""Asks releases of onnxruntime what they load: one probe file a release.

usage: target_probe.py CACHE VERSION...      (a Python with onnx and the newest onnxruntime)

CACHE/cpu/VERSION is the unpacked wheel; CACHE/deps/py38, py311, py311np2 have numpy 1 for Python 3.8, numpy 1 and numpy 2
for Python 3.11; pythons are those of pyenv. Writes CACHE/probe/VERSION.txt (a line a model, see target_worker.py)
and CACHE/probe/VERSION.json (limits, and the kernel list of releases that give one).
"""

import glob
import json
import os
import subprocess
import sys

LIMITS = r"""
import json, sys, onnxruntime as ort
from base64 import b64decode
options = ort.SessionOptions()
options.log_severity_level = int(sys.argv[1])
for line in sys.stdin:
    name, data = line.split()
    sys.stderr.write("@" + name + "\n"); sys.stderr.flush()
    try:
        ort.InferenceSession(b64decode(data), options, providers=["CPUExecutionProvider"])
        print(name, "ok", flush=True)
    except Exception as e:
        print(name, "no", str(e).replace("\n", " ")[:200], flush=True)
"""
KERNELS = r"""
import json, onnxruntime.capi.onnxruntime_pybind11_state as s
out = []
try:
    for k in s.get_all_opkernel_def():
        out.append([k.provider, k.domain, k.op_name, list(k.version_range), k.type_constraints])
except AttributeError:
    pass
print(json.dumps(out))
"""


def environment(cache, version, kind="cpu"):
    """(python, environment) in which that release is importable."""
    minor = int(version.split(".")[1])
    name, deps = ("3.8", "py38") if minor <= 15 else ("3.11", "py311") if minor < 19 else ("3.11", "py311np2")
    python = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{name}.*/bin/python"))[0]
    path = f"{cache}/{kind}/{version}:{cache}/deps/{deps}"
    return python, dict(os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1")


def smallest_model(ir, imports):
    from onnx import helper

    # Not is the same since version 1: no kernel can be missing.
    info = [helper.make_tensor_value_info(n, 9, [1]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Not", ["x"], ["y"])], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in imports])
    model.ir_version = ir
    return model.SerializeToString()


def limits(cache, version):
    """Newest IR version and opsets that are accepted, and opsets that are accepted with a warning."""
    from base64 import b64encode

    python, env = environment(cache, version)

    def ask(cases, severity=2):
        lines = "".join(f"{n} {b64encode(m).decode()}\n" for n, m in cases)
        done = subprocess.run([python, "-c", LIMITS, str(severity)], input=lines, env=env, text=True,
                              capture_output=True)
        warned, name = set(), None
        for line in done.stderr.splitlines():
            if line.startswith("@"):
                name = line[1:]
            elif "opset" in line.lower():
                warned.add(name)
        results = {}
        for line in done.stdout.splitlines():
            n, word, *rest = line.split(" ", 2)
            results[n] = (word == "ok", n in warned, rest[0] if rest else "")
        return results

    irs = ask([(str(i), smallest_model(i, [("", 7)])) for i in range(3, 18)])
    ir = max((int(n) for n, r in irs.items() if r[0]), default=0)
    out = {"ir": ir, "messages": {"ir": next((r[2] for r in irs.values() if not r[0]), "")}}
    for domain, newest in (("", 32), ("ai.onnx.ml", 7), ("ai.onnx.training", 2),
                           ("ai.onnx.preview.training", 2), ("ai.onnx.preview", 2), ("com.microsoft", 2)):
        base = [("", 7)] if domain else []
        got = ask([(str(v), smallest_model(ir, base + [(domain, v)])) for v in range(1, newest)])
        out[domain] = {
            "accepted": [int(n) for n, r in got.items() if r[0] and not r[1]],
            "warned": [int(n) for n, r in got.items() if r[0] and r[1]],
        }
        out["messages"][domain] = next((r[2] for r in got.values() if not r[0]), "")
    return out


def probe(cache, version, max_opset, max_ml):
    python, env = environment(cache, version)
    models, results = f"{cache}/probe/m.bin", f"{cache}/probe/{version}.txt"
    open(results, "w").close()
    worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "target_worker.py")
    total = len(json.load(open(f"{cache}/probe/m.json")))
    while True:
        done = sum(1 for _ in open(results))
        if done >= total:
            return
        run = subprocess.run([python, worker, models, results, str(done), str(max_opset), str(max_ml)],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if sum(1 for _ in open(results)) < total:
            with open(results, "a") as out:
                out.write(f"x\texit {run.returncode}\n")


def main():
    cache = sys.argv[1]
    for version in sys.argv[2:]:
        if os.path.exists(f"{cache}/probe/{version}.json"):
            continue
        found = limits(cache, version)
        opsets = found[""]["accepted"] + found[""]["warned"]
        mls = found["ai.onnx.ml"]["accepted"] + found["ai.onnx.ml"]["warned"]
        probe(cache, version, max(opsets), max(mls))
        python, env = environment(cache, version)
        done = subprocess.run([python, "-c", KERNELS], env=env, text=True, capture_output=True)
        found["kernels"] = json.loads(done.stdout.splitlines()[-1])
        with open(f"{cache}/probe/{version}.json", "w") as out:
            json.dump(found, out)
        print(version, {k: v for k, v in found.items() if k not in ("kernels",)}, len(found["kernels"]), flush=True)


if __name__ == "__main__":
    main()
