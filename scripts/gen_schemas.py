#!/usr/bin/env python3
"""Writes lib/schema/standard*.inc and versions.inc: all operators of the ONNX standard at every version.

Needs the onnx package at the version that lib/onnxtool.h names. Usage: gen_schemas.py [FOLDER]
"""

import pathlib
import re
import sys

import onnx
import onnx.defs
import onnx.helper

from schema_tables import Param, Row, Tables, attr_of_proto, c_string, main, normalize_constraints, set_until

HEADER = f"/* Written by scripts/gen_schemas.py from onnx {onnx.__version__}. Do not edit. */"
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.training")  # the columns of onnx.helper.VERSION_TABLE


def pinned_version():
    header = pathlib.Path(__file__).resolve().parent.parent / "lib" / "onnxtool.h"
    return re.search(r'OX_ONNX_VERSION "([^"]+)"', header.read_text()).group(1)


def param(p):
    return Param(p.name, p.type_str, f"OX_PARAM_{p.option.name.upper()}", p.is_homogeneous, p.min_arity, p.types)


def row(schema):
    inputs = [param(p) for p in schema.inputs]
    outputs = [param(p) for p in schema.outputs]
    constraints = [(t.type_param_str, t.allowed_type_strs) for t in schema.type_constraints]
    context = schema.has_context_dependent_function
    versions = [] if context else schema.function_opset_versions
    return Row(
        schema.domain,
        schema.name,
        schema.since_version,
        inputs=inputs,
        outputs=outputs,
        attrs=[attr_of_proto(a.name, a.type.name, a.required, a.default_value) for a in schema.attributes.values()],
        constraints=normalize_constraints(constraints, inputs + outputs),
        counts=(schema.min_input, schema.max_input, schema.min_output, schema.max_output),
        deprecated=schema.deprecated,
        non_deterministic=schema.node_determinism.name == "NonDeterministic",
        has_function=schema.has_function or context,
        bodies={v: function_body(schema, v) for v in versions},
    )


def function_body(schema, version):
    body = schema.get_function_with_opset_version(version)
    return body if isinstance(body, bytes) else body.SerializeToString(deterministic=True)


def versions_text():
    """Each domain's range, and the first release and IR version that knew an operator set."""
    lines = [HEADER, "static const struct ox_domain_row domains[] = {"]
    for domain, (first, newest) in sorted(onnx.defs.C.schema_version_map().items()):
        lines.append(f"    {{{c_string(domain)}, {first}, {newest}}},")
    lines += ["};", "", "static const struct ox_release_row releases[] = {"]
    seen = set()
    for release, ir, *opsets in onnx.helper.VERSION_TABLE:
        for domain, opset in zip(DOMAINS, opsets):
            if (domain, opset) not in seen:
                seen.add((domain, opset))
                lines.append(f"    {{{c_string(domain)}, {opset}, {ir}, {c_string(release)}}},")
    return "\n".join(lines + ["};", ""])


def files():
    if onnx.__version__ != pinned_version():
        sys.exit(f"onnx {pinned_version()} is needed, this is {onnx.__version__}")
    rows = [row(s) for s in onnx.defs.get_all_schemas_with_history()]
    set_until(rows)
    tables = Tables("standard", 0, rows)
    data = tables.data_text()
    return {
        "lib/schema/standard.inc": f"{HEADER}\n{data}",
        "lib/schema/standard_rows.inc": "\n".join([HEADER] + [tables.row_text(r) for r in tables.rows]) + "\n",
        "lib/schema/versions.inc": versions_text(),
    }


if __name__ == "__main__":
    main(__doc__, files)
