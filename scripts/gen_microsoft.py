#!/usr/bin/env python3
"""Writes lib/schema/microsoft*.inc: the operators that onnxruntime adds, as its own registry describes them.

Domains com.microsoft and com.microsoft.nchwc, and what it adds to the domain of the standard (foreign rows). Needs the
onnxruntime package at the version below, and onnx to read defaults and to know which rows are the standard's.
Usage: gen_microsoft.py [FOLDER]
"""

import sys

import onnx
import onnx.defs
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as registry

from schema_tables import Param, Row, Tables, attr_of_proto, main, normalize_constraints, set_until

VERSION = "1.32.0"
HEADER = f"/* Written by scripts/gen_microsoft.py from onnxruntime {VERSION}. Do not edit. */"
DOMAINS = ("com.microsoft", "com.microsoft.nchwc")
SET_BASE = 0x4000
# The registry does not say.
RANDOM = {"BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "Sampling"}


def params(formals, least):
    """least: the fewest that a node may have, from which a variadic parameter's own minimum follows."""
    return [
        Param(
            p.name,
            p.typeStr,
            f"OX_PARAM_{p.option.name.upper()}",
            p.isHomogeneous,
            max(least - i, 0) if p.option.name == "Variadic" else 1,
            p.types,
        )
        for i, p in enumerate(formals)
    ]


def attr(a):
    proto = None
    if a._default_value:
        proto = onnx.AttributeProto.FromString(a._default_value)
    return attr_of_proto(a.name, a.type.name, a.required, proto)


def row(schema):
    inputs = params(schema.inputs, schema.min_input)
    outputs = params(schema.outputs, schema.min_output)
    constraints = [(t.type_param_str, t.allowed_type_strs) for t in schema.type_constraints]
    return Row(
        schema.domain,
        schema.name,
        schema.since_version,
        inputs=inputs,
        outputs=outputs,
        attrs=[attr(a) for a in schema.attributes.values()],
        constraints=normalize_constraints(constraints, inputs + outputs),
        counts=(schema.min_input, schema.max_input, schema.min_output, schema.max_output),
        deprecated=schema.deprecated,
        non_deterministic=schema.name in RANDOM,
    )


def files():
    if onnxruntime.__version__ != VERSION:
        sys.exit(f"onnxruntime {VERSION} is needed, this is {onnxruntime.__version__}")
    standard = {(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}
    rows = []
    for schema in registry.get_all_operator_schema():
        known = (schema.domain, schema.name, schema.since_version) in standard
        if schema.domain in DOMAINS or (schema.domain == "" and not known):
            rows.append(row(schema))
    set_until(rows)
    tables = Tables("microsoft", SET_BASE, rows)
    data = tables.data_text()
    texts = {"lib/schema/microsoft.inc": f"{HEADER}\n{data}"}
    for name, domains in (("microsoft_rows.inc", DOMAINS), ("foreign_rows.inc", ("",))):
        lines = [HEADER] + [tables.row_text(r) for r in tables.rows if r.domain in domains]
        texts[f"lib/schema/{name}"] = "\n".join(lines) + "\n"
    return texts


if __name__ == "__main__":
    main(__doc__, files)
