"""Writes operator schemas as C tables; what gen_schemas.py and gen_microsoft.py share.

A source module turns its registry into Row objects; Tables collects them, keeps one copy of each list of
parameters, attributes, constraints and types, and prints the initializers that lib/schema/schema_tables.c includes.
"""

import argparse
import pathlib
import struct

# Element types as they stand in type strings, by TensorProto.DataType.
ELEMENT_NAMES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26, "float6e2m3": 27, "float6e3m2": 28,
}  # fmt: skip

# One mask a kind of type, in the order of struct ox_type_set_row.
KINDS = ("tensor(", "seq(tensor(", "optional(tensor(", "optional(seq(tensor(", "sparse_tensor(")

UNBOUNDED = 2147483647


class Param:
    def __init__(self, name, type_str, option, homogeneous, min_arity, types):
        self.name, self.type_str, self.option = name, type_str, option
        self.homogeneous, self.min_arity, self.types = homogeneous, min_arity, tuple(sorted(types))


class Attr:
    """default: None, int, float, bytes, or a list of one of these."""

    def __init__(self, name, type_name, required, default):
        self.name, self.type_name, self.required, self.default = name, type_name, required, default


class Row:
    """params of inputs and outputs; attrs; constraints as (name, types); bodies as {opset: bytes}."""

    def __init__(self, domain, name, since, **fields):
        self.domain, self.name, self.since = domain, name, since
        self.deprecated = self.non_deterministic = self.has_function = False
        self.bodies = {}
        self.until = 0
        self.__dict__.update(fields)

    def key(self):
        return (self.domain.encode(), self.name.encode(), self.since)


def attr_of_proto(name, type_name, required, proto):
    """proto: AttributeProto of the default; its type 0 says that there is none."""
    default = None
    if proto is not None and proto.type:
        field = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}[proto.type]
        default = getattr(proto, field)
        if field.endswith("s") and field != "s":
            default = list(default)
    return Attr(name, type_name, required, default)


def normalize_constraints(constraints, params):
    """(name, types) in the spelling of the parameters that use them: map(string, float) is map(string,tensor(float))."""
    used = {p.type_str: p.types for p in params}
    return [(name, used.get(name, tuple(sorted(types)))) for name, types in constraints]


def set_until(rows):
    rows.sort(key=Row.key)
    for row, following in zip(rows, rows[1:]):
        if (row.domain, row.name) == (following.domain, following.name):
            if row.since == following.since:
                raise SystemExit(f"two rows: {row.key()}")
            row.until = following.since - 1


def c_string(text):
    if isinstance(text, str):
        text = text.encode()
    out = "".join(
        "\\" + chr(b) if b in b'"\\' else chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in text
    )
    return f'"{out}"'


def c_float(value):
    """The fewest digits that read back as the same float."""
    bits = struct.pack("<f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack("<f", float(text)) == bits:
                break
        except OverflowError:  # rounded up beyond the largest float
            continue
    if not any(c in text for c in ".en"):
        text += ".0"
    if "n" in text:
        raise SystemExit(f"no C literal for {value}")
    return text + "f"


def chunks(items, n):
    return (", ".join(items[i : i + n]) for i in range(0, len(items), n))


class Pool:
    """Lists laid end to end, each list once; a list that is part of another is not stored again."""

    def __init__(self):
        self.items, self.at = [], {}

    def fill(self, lists):
        for entry in sorted(set(lists), key=lambda e: (-len(e), e)):
            self.at[entry] = self._place(entry)

    def _place(self, entry):
        n = len(entry)
        for i in range(len(self.items) - n + 1):
            if tuple(self.items[i : i + n]) == entry:
                return i
        self.items.extend(entry)
        return len(self.items) - n


class Tables:
    """prefix: of the C arrays. set_base: number of the first type set, so that two sources do not collide."""

    def __init__(self, prefix, set_base, rows):
        self.prefix, self.set_base, self.rows = prefix, set_base, sorted(rows, key=Row.key)
        self.sets = sorted(
            {p.types for r in rows for p in r.inputs + r.outputs} | {t for r in rows for _, t in r.constraints},
            key=lambda s: (len(s), s),
        )
        self.set_index = {types: i for i, types in enumerate(self.sets)}
        self.members, self.params, self.attrs, self.constraints = Pool(), Pool(), Pool(), Pool()
        self.members.fill(self.sets)
        self.params.fill(lst for r in self.rows for lst in (self.param_list(r, "inputs"), self.param_list(r, "outputs")))
        self.attrs.fill(self.attr_list(r) for r in self.rows)
        self.constraints.fill(self.constraint_list(r) for r in self.rows)
        self.body_bytes, self.body_at = bytearray(), {}
        for row in self.rows:
            for body in row.bodies.values():
                if body not in self.body_at:
                    self.body_at[body] = len(self.body_bytes)
                    self.body_bytes += body

    def set_number(self, types):
        return self.set_base + self.set_index[types]

    def param_list(self, row, side):
        names = [name for name, _ in row.constraints]
        return tuple(
            f"OX_PARAM({c_string(p.name)}, {c_string(p.type_str)}, {p.option}, {int(p.homogeneous)}, {p.min_arity}, "
            f"{names.index(p.type_str) if p.type_str in names else -1}, {self.set_number(p.types)})"
            for p in getattr(row, side)
        )

    def attr_list(self, row):
        return tuple(self.attr_text(a) for a in sorted(row.attrs, key=lambda a: a.name.encode()))

    @staticmethod
    def attr_text(attr):
        head = f"{c_string(attr.name)}, {attr.type_name}, {int(attr.required)}"
        value = attr.default
        if value is None:
            return f"OX_ATTR({head})"
        if isinstance(value, int):
            return f"OX_ATTR_I({head}, {value})"
        if isinstance(value, float):
            return f"OX_ATTR_F({head}, {c_float(value)})"
        if isinstance(value, bytes):
            return f"OX_ATTR_S({head}, {c_string(value)})"
        kind, text = {int: ("INTS", str), float: ("FLOATS", c_float), bytes: ("STRINGS", c_string)}[type(value[0])]
        return f"OX_ATTR_{kind}({head}, {len(value)}, {', '.join(text(v) for v in value)})"

    def constraint_list(self, row):
        return tuple(f"{{{c_string(name)}, {self.set_number(types)}}}" for name, types in row.constraints)

    def array(self, ctype, name, items):
        lines = [f"static const {ctype} {self.prefix}_{name}[] = {{"]
        lines += [f"    {item}," for item in items]
        return lines + ["};", ""]

    def set_rows(self):
        for types in self.sets:
            masks = [0] * len(KINDS)
            for text in types:
                for k, head in enumerate(KINDS):
                    element = text[len(head) :].rstrip(")")
                    if text.startswith(head) and element in ELEMENT_NAMES:
                        masks[k] |= 1 << ELEMENT_NAMES[element]
            yield f"{{{self.members.at[types]}, {len(types)}, {{{', '.join(f'{m:#x}' for m in masks)}}}}}"

    def data_text(self):
        names = [c_string(m) for m in self.members.items]
        lines = self.array("char *const", "type_names", chunks(names, 4))
        lines += self.array("struct ox_type_set_row", "type_sets", self.set_rows())
        lines += self.array("struct ox_schema_param", "params", self.params.items)
        lines += self.array("struct ox_schema_attr", "attrs", self.attrs.items)
        lines += self.array("struct ox_schema_constraint", "constraints", self.constraints.items)
        if self.body_bytes:
            lines += self.array("unsigned char", "body_bytes", chunks(list(map(str, self.body_bytes)), 24))
            lines += self.array("struct ox_schema_body", "bodies", self.body_rows())
        return "\n".join(lines)

    def body_list(self, row):
        return tuple((self.body_at[body], len(body), opset) for opset, body in sorted(row.bodies.items()))

    def body_rows(self):
        self.first_body = {}
        n = 0
        for row in self.rows:
            self.first_body[row.key()] = n
            for at, size, opset in self.body_list(row):
                n += 1
                yield f"{{{self.prefix}_body_bytes + {at}, {size}, {opset}}}"

    def span(self, pool, kind, entry):
        return f"{self.prefix}_{kind} + {pool.at[entry]}, {len(entry)}" if entry else "NULL, 0"

    def row_text(self, row):
        flags = "|".join(
            ["0"]
            + ["OX_ROW_DEPRECATED"] * row.deprecated
            + ["OX_ROW_RANDOM"] * row.non_deterministic
            + ["OX_ROW_FUNCTION"] * row.has_function
        ).replace("0|", "")
        counts = ", ".join("UINT_MAX" if c == UNBOUNDED else str(c) for c in row.counts)
        bodies = "NULL, 0, 0, NULL, 0"
        if row.bodies:
            at, size, opset = self.body_list(row)[0]
            bodies = f"{self.prefix}_body_bytes + {at}, {size}, {opset}, "
            bodies += f"{self.prefix}_bodies + {self.first_body[row.key()]}, {len(row.bodies)}"
        return (
            f"OX_ROW({c_string(row.domain)}, {c_string(row.name)}, {row.since}, {row.until}, {flags}, {counts}, "
            f"{self.span(self.params, 'params', self.param_list(row, 'inputs'))}, "
            f"{self.span(self.params, 'params', self.param_list(row, 'outputs'))}, "
            f"{self.span(self.attrs, 'attrs', self.attr_list(row))}, "
            f"{self.span(self.constraints, 'constraints', self.constraint_list(row))}, {bodies})"
        )


def main(description, files):
    """files() gives {path in the tree: text}; they are written below the folder that the command line names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    tree = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=tree, help="default: the tree itself")
    folder = parser.parse_args().folder
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
