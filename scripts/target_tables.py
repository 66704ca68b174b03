"""The form of lib/schema/target_tables.inc, which gen_targets.py writes, and reads for what is not measured again.

A row is (domain, operator, since, via, boxes); boxes are products of sets of types, ((constraint, mask), ...) each, and stand for
their union. A table is {row: bits of the releases}.
"""

import collections
import re

ANY = ((),)


def any_type(boxes):
    """Boxes, of which one without bounds takes in all others."""
    return ANY if any(box == () for box in boxes) else boxes


class Writer:
    def __init__(self):
        self.masks, self.names, self.bounds, self.boxes, self.types = [], [], [], [], []
        self.index = {}
        self.type_number(ANY)

    def number(self, pool, item):
        key = (id(pool), item)
        if key not in self.index:
            self.index[key] = len(pool)
            pool.append(item)
        return self.index[key]

    def type_number(self, boxes):
        """0: any type."""
        boxes = any_type(boxes)
        key = ("types", boxes)
        if key not in self.index:
            first = len(self.boxes)
            for box in boxes:
                at = len(self.bounds)
                for name, mask in box:
                    self.bounds.append((self.number(self.names, name), self.number(self.masks, mask)))
                self.boxes.append((at, len(box)))
            self.index[key] = len(self.types)
            self.types.append((first, len(boxes)))
        return self.index[key]

    def table(self, symbol, rows):
        lines = []
        for (domain, name, since, via, boxes), bits in sorted(rows.items(), key=lambda r: (r[0][:3], r[0][3], -r[1])):
            lines.append(f"    {{{c_string(domain)}, {c_string(name)}, {since}, {since}, {via}, "
                         f"{self.type_number(boxes)}, 0x{bits:x}}},")
        return f"static const struct ox_target_row {symbol}[] = {{\n" + "\n".join(lines) + "\n};\n"

    def pools(self):
        spans = {"target_boxes": self.boxes, "target_types": self.types}
        return (array("uint64_t target_masks", [f"0x{m:x}u" for m in self.masks], 6) +
                array("char *const target_names", [c_string(n) for n in self.names], 8) +
                array("struct ox_target_bound target_bounds", [f"{{{n}, {m}}}" for n, m in self.bounds], 10) +
                "".join(array(f"struct ox_target_span {name}", [f"{{{a}, {n}}}" for a, n in pool], 10)
                        for name, pool in spans.items()))


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array(declared, items, per_line):
    lines = ["    " + ", ".join(items[i : i + per_line]) + ",\n" for i in range(0, len(items), per_line)]
    return f"static const {declared}[] = {{\n" + "".join(lines) + "};\n"


class Written:
    """What a file holds: releases {version: its line's other numbers}, sure {version: how CUDA's are known}, and tables."""

    def __init__(self, path):
        with open(path) as f:
            self.text = f.read()
        self.releases = {v: rest for v, rest in re.findall(r'\{"([\d.]+)", ([\d, ]+)\}', self.body("ort_releases"))}
        self.sure = dict(zip(self.releases, re.findall(r"OX_SURE_\w+", self.body("ort_cuda_sure"))))
        masks = [int(m, 16) for m in re.findall(r"0x([0-9a-f]+)u", self.body("target_masks"))]
        names = re.findall(r'"([^"]*)"', self.body("target_names"))
        bounds = [(names[n], masks[m]) for n, m in self.pairs("target_bounds")]
        boxes = [tuple(bounds[at : at + n]) for at, n in self.pairs("target_boxes")]
        self.types = [tuple(boxes[at : at + n]) for at, n in self.pairs("target_types")]

    def body(self, symbol):
        match = re.search(rf"\b{symbol}\[\] = \{{\n(.*?)\}};\n", self.text, re.DOTALL)
        if not match:
            raise SystemExit(f"target_tables: no table {symbol}")
        return match[1]

    def pairs(self, symbol):
        return [(int(a), int(b)) for a, b in re.findall(r"\{(\d+), (\d+)\}", self.body(symbol))]

    def table(self, symbol, bits=-1):
        """Its rows, of which these releases count."""
        rows = collections.OrderedDict()
        line = r'\{"([^"]*)", "([^"]*)", (\d+), \d+, (\w+), (\d+), 0x([0-9a-f]+)\},'
        for domain, name, since, via, types, releases in re.findall(line, self.body(symbol)):
            if int(releases, 16) & bits:
                rows[(domain, name, int(since), via, self.types[int(types)])] = int(releases, 16) & bits
        return rows
