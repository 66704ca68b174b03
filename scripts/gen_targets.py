"""Writes lib/schema/target_tables.inc: what each release of a runtime loads.

usage: gen_targets.py FOLDER      (a Python with onnx and the newest onnxruntime)

The measurements are in $TARGETS_CACHE (default /work/targets-cache): unpacked wheels in cpu/VERSION and gpu/VERSION, then
  target_models.py CACHE/probe/m.bin CACHE/probe/m.json     one-node models: operator, version, types
  target_probe.py CACHE VERSION...                          loads them all in each release; limits of IR and opsets
  target_cuda.py CACHE VERSION...                           CUDA's kernel lists of 1.16 and newer
  target_openvino.py CACHE VERSION                          which of the models OpenVINO's frontend reads
  docs/OperatorKernels-VERSION.md                           kernel tables as published, CUDA before 1.16
scripts/target_published.txt has the tables that are known from documentation alone. What the cache does not have keeps what the
file tells of it: a new release is added with its own measurements alone, and without a cache, as in a check of generated files,
all stays as it is. A release without a kernel list of CUDA has its predecessor's, as derived.
"""

import collections
import json
import os
import re
import shutil
import sys

import target_published
from target_models import ELEMENT, all_schemas
from target_tables import Written, Writer, any_type, array

CACHE = os.environ.get("TARGETS_CACHE", "/work/targets-cache")
OUT = "lib/schema/target_tables.inc"
RELEASES = """1.4.0 1.5.2 1.6.0 1.7.0 1.8.1 1.9.0 1.10.0 1.11.1 1.12.1 1.13.1 1.14.1 1.15.1 1.16.3 1.17.3 1.18.1 1.19.2
1.20.1 1.21.1 1.22.1 1.23.2 1.24.4 1.25.1 1.26.0 1.27.0 1.28.0 1.29.0 1.30.0 1.31.1 1.32.0""".split()
VIA = {"k": "OX_VIA_KERNEL", "c": "OX_VIA_CAST", "f": "OX_VIA_BODY"}
SEQUENCE, OPTIONAL_BIT, OTHER_BIT = 32, 1 << 32, 1
SKIPPED_DOMAINS = ("com.microsoft.nchwc", "com.ms.internal.nhwc", "com.microsoft.experimental")


def type_bit(text):
    """Bit of a type in a mask: tensor(x) at x's number, seq(tensor(x)) 32 higher; optional and all others share one each."""
    text = text.replace(" ", "")
    match = re.fullmatch(r"(seq\()?tensor\((\w+)\)\)?", text)
    if match and match[2] in ELEMENT:
        return 1 << ((SEQUENCE if match[1] else 0) + ELEMENT[match[2]])
    return OPTIONAL_BIT if text.startswith("optional") else OTHER_BIT


def mask_of(texts):
    mask = 0
    for text in texts:
        mask |= type_bit(text)
    return mask


def boxes_of(points, names, full):
    """Covers a set of type assignments by products of sets: [{constraint: mask}], without what does not bind."""
    boxes = {tuple(p) for p in points}
    for axis in range(len(names)):
        merged = collections.defaultdict(int)
        for box in boxes:
            merged[box[:axis] + box[axis + 1 :]] |= box[axis]
        boxes = {key[:axis] + (mask,) + key[axis:] for key, mask in merged.items()}
    out = []
    for box in sorted(boxes):
        out.append(tuple((n, m) for n, m, f in zip(names, box, full) if m & f != f))
    return tuple(sorted(out))


class Probe:
    """What one release answered."""

    def __init__(self, version, keys):
        with open(f"{CACHE}/probe/{version}.json") as f:
            self.limits = json.load(f)
        with open(f"{CACHE}/probe/{version}.txt") as f:
            lines = [line.rstrip("\n").split("\t") for line in f]
        if len(lines) != len(keys):
            raise SystemExit(f"{version}: {len(lines)} answers, {len(keys)} models")
        self.codes = [self.judge(line) for line in lines]

    @staticmethod
    def judge(line):
        code, text = line[0], line[1] if len(line) > 1 else ""
        if code in "no" and "xception during initialization" in text:
            # The kernel was found; it refused our attributes. Types without an implementation are refused there too.
            return "n" if "MLDataType" in text or "tensor type" in text else "k"
        if code == "o" and "input size" in text and "not in range" in text:
            return "?"
        return "n" if code == "o" else code


def fill_unknown(probes, index):
    """A crash or a signature of its time tells nothing: the next newer release that answers does, then the next older."""
    codes = [p.codes[index] for p in probes.values()]
    # What 1.4 to 1.7 save is the graph before casts are put in: 1.8 tells which nodes get them.
    first = list(probes).index("1.8.1") if "1.8.1" in probes else 0
    codes[:first] = ["c" if code == "k" and codes[first] == "c" else code for code in codes[:first]]
    for i, code in enumerate(codes):
        if code in "x?":
            later = [c for c in codes[i + 1 :] if c not in "x?s"]
            earlier = [c for c in reversed(codes[:i]) if c not in "x?s"]
            codes[i] = (later + earlier + ["n"])[0]
    return dict(zip(probes, codes))


def cpu_rows(keys, probes):
    """{(domain, name, since, via, boxes): releases} of those that were measured."""
    groups = collections.defaultdict(list)
    for i, key in enumerate(keys):
        groups[tuple(key[:3])].append(i)
    rows = collections.defaultdict(int)
    for op, members in groups.items():
        codes = {i: fill_unknown(probes, i) for i in members}
        usual = [i for i in members if keys[i][4] is None]
        extras = [i for i in members if keys[i][4] is not None]
        names = sorted(keys[usual[0]][3])
        points = {i: tuple(type_bit(keys[i][3][n]) for n in names) for i in usual}
        full = [0] * len(names)
        for p in points.values():
            full = [f | m for f, m in zip(full, p)]
        for r in probes:
            if all(codes[i][r] == "s" for i in members):
                continue
            bounds = extra_bounds(keys, extras, codes, r, names)
            for code, via in VIA.items():
                good = {points[i] for i in usual if codes[i][r] == code or
                        (op[1] == "Constant" and code == "k" and codes[i][r] == "f")}
                if not good or (op[1] == "Constant" and code == "f"):
                    continue
                rows[(*op, via, any_type(bounded_boxes(good, names, full, bounds)))] |= bit_of(r)
    return rows


def bit_of(version):
    return 1 << RELEASES.index(version)


def extra_bounds(keys, extras, codes, r, names):
    """{bit of the first constraint's type: masks of the constraints that only optional inputs have}"""
    good, all_ = collections.defaultdict(int), collections.defaultdict(int)
    bases = set()
    for i in extras:
        name, base = keys[i][4], type_bit(keys[i][3][names[0]]) if names else 0
        bit = type_bit(keys[i][3][name])
        bases.add(base)
        all_[base, name] |= bit
        if codes[i][r] in "kcf":
            good[base, name] |= bit
    return {base: tuple((n, m) for (b, n), m in sorted(good.items()) if b == base and m != all_[b, n])
            for base in bases}


def bounded_boxes(points, names, full, bounds):
    """Boxes of the points, those of a base that was asked for with its own bounds, all others with float's or the first one's."""
    usual = type_bit("tensor(float)")
    usual = usual if usual in bounds else min(bounds, default=0)
    groups = collections.defaultdict(set)
    for p in points:
        base = p[0] if p and p[0] in bounds else usual
        groups[bounds.get(base, ())].add(p)
    out = set()
    for more, members in groups.items():
        for box in boxes_of(members, names, full):
            out.add(tuple(sorted(box + more)))
    return tuple(sorted(out))


def add_early_casts(rows, since_of):
    """Models of an opset before 6 cannot take the casts that onnxruntime puts around float32's kernels for float16, and each
    version was asked for at the opset that it begins with. Where it serves newer opsets, as Conv 1 does up to 10, it has them."""
    half, single = type_bit("tensor(float16)"), type_bit("tensor(float)")
    casts = collections.defaultdict(int)
    for (domain, name, since, via, boxes), releases in rows.items():
        known = domain == "" and since < 6 and since in since_of[(domain, name)]
        if known and not name.startswith("Random") and via == "OX_VIA_KERNEL" and any(
                len(box) == 1 and box[0][0] == "T" and box[0][1] & single and not box[0][1] & half for box in boxes):
            casts[(domain, name, since, "OX_VIA_CAST", ((("T", half),),))] |= releases
    for row, releases in casts.items():
        rows[row] |= releases


def casts_in_bodies(rows):
    """Where no type of an operator has a kernel and some go by its body, casts stand within that."""
    have = collections.defaultdict(int)
    for (domain, name, since, via, _), bits in rows.items():
        have[domain, name, since, via] |= bits
    for (domain, name, since, via, boxes), bits in list(rows.items()):
        op = (domain, name, since)
        within = bits & have[(*op, "OX_VIA_BODY")] & ~have[(*op, "OX_VIA_KERNEL")]
        if via == "OX_VIA_CAST" and within:
            rows[(*op, "OX_VIA_BODY", boxes)] |= within
            rows[(*op, via, boxes)] &= ~within
    for row in [row for row, bits in rows.items() if not bits]:
        del rows[row]


def versions_served(since_of, domain, name, first, last):
    """Schema versions for which onnxruntime takes a kernel that is registered for first to last: an open end serves only the
    version that it starts at."""
    out = [s for s in since_of.get((domain, name), []) if s == first or (first < s <= last and last < 2**31 - 1)]
    return out or ([first] if (domain, name) not in since_of else [])


def kernel_rows(kernels, since_of, allowed, provider):
    """{(domain, name, since, via, boxes)} of a kernel list."""
    found = collections.defaultdict(set)
    for who, domain, name, (first, last), types in kernels:
        domain = "" if domain == "ai.onnx" else domain
        if who != provider or domain in SKIPPED_DOMAINS:
            continue
        for since in versions_served(since_of, domain, name, first, last):
            box = []
            for constraint, texts in sorted(types.items()):
                mask, full = mask_of(texts), allowed.get((domain, name, since, constraint), 0)
                if not full or mask & full != full:
                    box.append((constraint, mask))
            found[(domain, name, since)].add(tuple(box))
    rows = set()
    for op, boxes in found.items():
        rows.add((*op, "OX_VIA_KERNEL", any_type(merge_boxes(boxes))))
    return rows


def merge_boxes(boxes):
    """Joins boxes that differ in one constraint's mask."""
    boxes = set(boxes)
    changed = True
    while changed:
        changed = False
        groups = collections.defaultdict(set)
        for box in boxes:
            for i, (name, mask) in enumerate(box):
                groups[(i, name, box[:i], box[i + 1 :])].add(mask)
        for (i, name, before, after), masks in groups.items():
            if len(masks) > 1:
                for m in masks:
                    boxes.discard(before + ((name, m),) + after)
                union = 0
                for m in masks:
                    union |= m
                boxes.add(before + ((name, union),) + after)
                changed = True
                break
    return tuple(sorted(boxes))


def published_kernels(path, provider):
    """The kernel list of docs/OperatorKernels.md."""
    out, here, domain, name = [], False, "", ""
    with open(path) as f:
        for line in f:
            if line.startswith("## Operators implemented by"):
                here = line.strip().endswith(provider)
            match = re.match(r"\|?\*\*Operator Domain:\*\* \*(.*?)\*", line)
            if match:
                domain = match[1]
            cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if line.startswith("|||"):
                cells = ["", ""] + [c.strip() for c in line.strip()[3:].strip("|").split("|")]
            if not here or len(cells) != 4 or cells[0] in ("Op Name", "---------", "-------") or "---" in cells[0]:
                continue
            name = cells[0] or name
            span = re.fullmatch(r"\[?(\d+)(?:, (\d+))?\]?(\+)?", cells[2])
            if not span:
                continue
            first = int(span[1])
            last = 2**31 - 1 if span[3] else int(span[2] or first)
            types = {}
            for part in re.findall(r"\*\*(\w+)\*\* = ([^*]+)", cells[3]):
                types[part[0]] = re.findall(r"(?:map|seq|optional)?\(?tensor\(\w+\)\)?|map\([^)]*\)+", part[1])
            out.append([provider, domain, name, (first, last), types])
    return out


def cuda_list(version, since_of, allowed, written):
    """Rows of CUDA of a release, and how they are known; None: they are not."""
    minor = version.rsplit(".", 1)[0] + "."
    measured = [f for f in os.listdir(f"{CACHE}/probe") if f.startswith("cuda-" + minor)]
    document = f"{CACHE}/docs/OperatorKernels-{version}.md"
    if measured:
        with open(f"{CACHE}/probe/{measured[0]}") as f:
            kernels, how = json.load(f), "OX_SURE_LISTED"
    elif os.path.exists(document):
        kernels, how = published_kernels(document, "CUDAExecutionProvider"), "OX_SURE_PUBLISHED"
    elif version in written.sure:
        return set(written.table("ort_cuda_rows", bit_of(version))), written.sure[version]
    else:
        return None, "OX_SURE_DERIVED"
    return kernel_rows(kernels, since_of, allowed, "CUDAExecutionProvider"), how


def cuda_rows(since_of, allowed, written):
    """Rows of CUDA, and for each release how they are known."""
    rows = collections.defaultdict(int)
    lists, sure = zip(*(cuda_list(version, since_of, allowed, written) for version in RELEASES))
    lists = list(lists)
    for r in range(1, len(lists) - 1):
        # A published table may lack a part: what the releases before and after it have was not taken out and put back.
        if sure[r] == "OX_SURE_PUBLISHED" and lists[r - 1] and lists[r + 1]:
            have = {k[:3] for k in lists[r]}
            after = {k[:3] for k in lists[r + 1]}
            lists[r] |= {k for k in lists[r - 1] if k[:3] not in have and k[:3] in after}
    for r, found in enumerate(lists):
        if found is None:  # what both its neighbours have, or the one before the newest
            ops = {k[:3] for k in (lists[r + 1] if r + 1 < len(lists) else lists[r - 1])}
            found = {k for k in lists[r - 1] if k[:3] in ops}
        for key in found:
            rows[key] |= 1 << r
    return rows, sure


def supplement(rows, keys, probes, since_of, allowed):
    """Operators for which no model could be made: from the kernel lists of 1.16 and newer."""
    seen = {tuple(k[:3]) for k in keys}
    added = 0
    for version, probe in probes.items():
        listed = kernel_rows(probe.limits["kernels"], since_of, allowed, "CPUExecutionProvider")
        have = {k[:3] for k, bits in rows.items() if bits & bit_of(version)}
        for key in listed:
            if key[:3] not in have and (key[:3] not in seen or key[0] == "com.microsoft"):
                rows[key] |= bit_of(version)
                added += 1
    return added


def openvino_rows(keys, version, written):
    """Operators at versions that the frontend translates; its answers say little of types."""
    answers = f"{CACHE}/probe/openvino-{version}.txt"
    if not os.path.exists(answers):
        return written.table("openvino_rows")
    with open(answers) as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    if len(lines) != len(keys):
        raise SystemExit(f"openvino: {len(lines)} answers, {len(keys)} models")
    rows = {}
    known = collections.defaultdict(bool)
    for key, line in zip(keys, lines):
        text = line[1] if len(line) > 1 else ""
        # A translator that finds fault with our node is one all the same.
        known[tuple(key[:3])] |= line[0] == "k" or "hile validating ONNX node" in text
    for op, good in known.items():
        if good:
            rows[(*op, "OX_VIA_KERNEL", ((),))] = 1
    return rows


def dml_rows(since_of, allowed, written):
    """DirectML's as published with 1.14.1."""
    document = f"{CACHE}/docs/OperatorKernels-1.14.1.md"
    if not os.path.exists(document):
        return written.table("dml_rows")
    kernels = published_kernels(document, "DmlExecutionProvider")
    return dict.fromkeys(kernel_rows(kernels, since_of, allowed, "DmlExecutionProvider"), 1)


def release_lines(probes, written):
    """version, newest IR, newest opset of ai.onnx, oldest one without a warning, newest of ai.onnx.ml"""
    lines = []
    for version in RELEASES:
        if version not in probes:
            lines.append(f'{{"{version}", {written.releases[version]}}}')
            continue
        limits = probes[version].limits
        most = {d: max(limits[d]["accepted"] + limits[d]["warned"]) for d in ("", "ai.onnx.ml")}
        if most["ai.onnx.ml"] == 6:  # all that were asked for: 1.4 has no limit
            most["ai.onnx.ml"] = 0
        lines.append(f'{{"{version}", {limits["ir"]}, {most[""]}, {min(limits[""]["accepted"])}, '
                     f'{most["ai.onnx.ml"]}}}')
    return lines


def main():
    folder = sys.argv[1]
    target = os.path.join(folder, OUT)
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", OUT)
    if not os.path.isdir(f"{CACHE}/probe"):
        if os.path.abspath(here) != os.path.abspath(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(here, target)
        print("gen_targets: no measurements here: the tables stay as they are", file=sys.stderr)
        return
    with open(f"{CACHE}/probe/m.json") as f:
        keys = json.load(f)
    since_of, allowed = collections.defaultdict(list), {}
    for s in all_schemas():
        since_of[(s.domain, s.name)].append(s.since)
        for c, texts in s.constraints.items():
            allowed[(s.domain, s.name, s.since, c)] = mask_of(texts)
    written = Written(here)
    probes = {v: Probe(v, keys) for v in RELEASES if os.path.exists(f"{CACHE}/probe/{v}.json")}
    cpu = cpu_rows(keys, probes)
    add_early_casts(cpu, since_of)
    added = supplement(cpu, keys, probes, since_of, allowed)
    print("measured", *probes, "cpu rows", len(cpu), "from kernel lists", added)
    for row, bits in written.table("ort_cpu_rows", ~sum(bit_of(v) for v in probes)).items():
        cpu[row] |= bits
    casts_in_bodies(cpu)
    cuda, sure = cuda_rows(since_of, allowed, written)
    writer = Writer()
    tables = {"ort_cpu": cpu, "ort_cuda": cuda, "openvino": openvino_rows(keys, "2026.4.1", written),
              "dml": dml_rows(since_of, allowed, written)}
    published = os.path.join(os.path.dirname(os.path.abspath(__file__)), "target_published.txt")
    tables.update({p.symbol: p.rows for p in target_published.read(published, since_of)})
    text = "\n".join(writer.table(f"{symbol}_rows", rows) for symbol, rows in tables.items())
    os.makedirs(os.path.dirname(target), exist_ok=True)
    listed = [v for v, how in zip(RELEASES, sure) if how == "OX_SURE_LISTED"]
    with open(target, "w") as out:
        out.write(f"/* Generated by scripts/gen_targets.py from the released packages onnxruntime {RELEASES[0]} to {RELEASES[-1]}, "
                  f"onnxruntime-gpu {listed[0]} to {listed[-1]}, openvino 2026.4.1 and the published tables of "
                  "scripts/target_published.txt. Do not edit. */\n")
        out.write("/* version, newest IR, newest opset of ai.onnx, oldest one without a warning, newest of ai.onnx.ml */\n")
        out.write(array("struct ox_target_release ort_releases", release_lines(probes, written), 1))
        out.write(array("unsigned char ort_cuda_sure", sure, 4))
        out.write(writer.pools() + text)
    print(os.path.getsize(target), "bytes")


if __name__ == "__main__":
    main()
