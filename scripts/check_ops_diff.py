#!/usr/bin/env python3
"""Holds a run of the oracle's ops_diff.py against the departures that lib/ops/README.md explains.

  ops_diff.py run --tool build/release/onnxtool --json RUN.jsonl; check_ops_diff.py [--part] RUN.jsonl...

What fails must be exactly what scripts/ops_diff_explained.txt lists (of a part of the cases, those listed among them: --part), and the
operator of each listed case must have a row in the first table of the README. Exit code 0: so it is; 1: it is not, each departure is told.
"""
import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = 10305


def explained_operators():
    """Names in the first column of the README's first table."""
    text = (HERE.parent / "lib/ops/README.md").read_text(encoding="utf-8")
    rows = re.search(r"\| operator \| inputs \| others .*?\n\n", text, re.S).group(0).splitlines()[2:]
    return {name.split()[0] for row in rows if row for name in row.split("|")[1].split(",")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="RUN.jsonl")
    parser.add_argument("--part", action="store_true", help="the runs hold a part of the cases")
    args = parser.parse_args()
    lines = (HERE / "ops_diff_explained.txt").read_text(encoding="utf-8").splitlines()
    listed = {line.split()[0] for line in lines if line and not line.startswith("#")}
    borderline = {line.split()[0] for line in lines if line.endswith(" ?")}
    operators = explained_operators()
    wrong = 0
    for run in args.runs:
        with open(run, encoding="utf-8") as file:
            cases = {case["name"]: case for case in map(json.loads, file)}
        failed = {name for name, case in cases.items() if case["status"] != "pass"}
        told = [f"{name}: {cases[name]['status']}, not explained" for name in sorted(failed - listed)]
        told += [f"{name}: passes, but is listed" for name in sorted((listed & cases.keys()) - failed - borderline)]
        told += [f"{name}: no row for {op}" for name in sorted(failed) for op in cases[name]["ops"] if op not in operators]
        if not args.part and len(cases) != CASES:
            told.append(f"{len(cases)} of {CASES} cases")
        for line in told:
            print(f"{run}: {line}")
        print(f"{run}: {len(cases)} cases, {len(failed)} depart, {len(failed & listed)} of them explained")
        wrong += len(told)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
