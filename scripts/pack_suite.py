#!/usr/bin/env python3
"""Packs ONNX's backend suite, as the pinned onnx release makes it, into testdata/suite/*.gz for lib/tests/test_suite.c.

    pack_suite.py [--check] [FOLDER]        FOLDER is testdata/suite; --check compares instead of writing

A pack is a gzip stream, little-endian: "OXSUITE1", then for each case
    u16 n, name ("node/test_abs"); f64 rtol, f64 atol; u8 special (0, 1 bernoulli, 2 training dropout)
    u32 n, model; u16 data sets, and for each u16 n and n input values, u16 n and n output values
where a value is a letter and what follows it:
    T  u8 element type, u8 rank, i64 dims, elements as struct ox_tensor has them (strings: u32 n and n bytes each)
    S  u8 element type, u32 n, n values                     sequence
    O  u8 element type, u8 0 or 1, perhaps a value          optional
    M  T keys, T or S values                                map
Inputs are those of the graph that have no initializer, in order. Left out are the `real` models, whose outputs take minutes by reference
kernels, and the few cases whose tensors are over a megabyte.
"""
import argparse
import gzip
import io
import os
import re
import struct
import sys
import warnings

LARGEST = 1 << 20
# Tolerances that onnx's own run of its reference evaluator sets apart from the case's own (test_backend_reference.py).
TOLERANCES = [
    (r"^test_dft(_axis|_inverse)?(_opset19)?$", None, 1e-6),
    (r"^test_celu_bfloat16_expanded$", 1e-2, 1e-2),
]
# Cases whose expected file is one draw of numpy's generator.
SPECIAL = [(r"^test_bernoulli", 1), (r"^test_training_dropout", 2)]


def pack_tensor(proto):
    """A TensorProto with the elements as in memory: a byte for what is smaller."""
    import numpy as np
    from onnx import TensorProto, numpy_helper
    head = struct.pack("<cBB", b"T", proto.data_type, len(proto.dims)) + struct.pack(f"<{len(proto.dims)}q", *proto.dims)
    if proto.data_type == TensorProto.STRING:
        return head + b"".join(struct.pack("<I", len(s)) + s for s in proto.string_data)
    array = np.ascontiguousarray(numpy_helper.to_array(proto))
    if proto.data_type in (TensorProto.INT4, TensorProto.INT2):
        array = array.astype(np.int8)
    elif proto.data_type in (TensorProto.UINT4, TensorProto.UINT2):
        array = array.astype(np.uint8)
    return head + array.tobytes()


def pack_sequence(proto):
    kind = type(proto)
    items = {kind.UNDEFINED: [], kind.TENSOR: proto.tensor_values, kind.SEQUENCE: proto.sequence_values, kind.MAP: proto.map_values,
             kind.OPTIONAL: proto.optional_values}[proto.elem_type]
    elem = items[0].data_type if proto.elem_type == kind.TENSOR and len(items) else 0
    return struct.pack("<cBI", b"S", elem, len(items)) + b"".join(map(pack_value, items))


def pack_optional(proto):
    kind = type(proto)
    field = {kind.TENSOR: "tensor_value", kind.SEQUENCE: "sequence_value", kind.MAP: "map_value"}.get(proto.elem_type)
    has = field is not None and proto.HasField(field)
    elem = proto.tensor_value.data_type if has and field == "tensor_value" else 0
    return struct.pack("<cBB", b"O", elem, has) + (pack_value(getattr(proto, field)) if has else b"")


def pack_map(proto):
    from onnx import TensorProto
    keys = TensorProto(data_type=proto.key_type)
    if proto.key_type == TensorProto.STRING:
        keys.string_data.extend(proto.string_keys)
        keys.dims.append(len(proto.string_keys))
    else:
        keys.int64_data.extend(proto.keys)
        keys.dims.append(len(proto.keys))
    return b"M" + pack_tensor(keys) + pack_sequence(proto.values)


def pack_value(proto):
    return {"TensorProto": pack_tensor, "SequenceProto": pack_sequence, "OptionalProto": pack_optional,
            "MapProto": pack_map}[type(proto).__name__](proto)


def proto_of(value, type_proto, name):
    """A value of a data set in the proto that its declared type asks for."""
    import numpy as np
    from onnx import TensorProto, numpy_helper
    if isinstance(value, TensorProto):
        return value
    if type_proto.HasField("map_type"):
        return numpy_helper.from_dict(value, name)
    if type_proto.HasField("sequence_type"):
        return numpy_helper.from_list(value, name)
    if type_proto.HasField("optional_type"):
        return numpy_helper.from_optional(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def fed_inputs(graph):
    given = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    return [info for info in graph.input if info.name not in given]


def read_files(folder, stem, infos):
    """Values of the files stem_0.pb, stem_1.pb ... of a data set."""
    import onnx
    values = []
    while os.path.exists(os.path.join(folder, f"{stem}_{len(values)}.pb")):
        which = infos[len(values)].type.WhichOneof("value")
        kind = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto,
                "map_type": onnx.MapProto}[which]
        with open(os.path.join(folder, f"{stem}_{len(values)}.pb"), "rb") as f:
            values.append(kind.FromString(f.read()))
    return values


def data_sets(case, model):
    """(inputs, outputs) of each data set, as protos."""
    inputs, outputs = fed_inputs(model.graph), model.graph.output
    if case.data_sets is not None:
        return [([proto_of(v, i.type, i.name) for v, i in zip(given, inputs)], [proto_of(v, o.type, o.name) for v, o in zip(made, outputs)])
                for given, made in case.data_sets]
    folders = sorted(d for d in os.listdir(case.model_dir) if d.startswith("test_data_set_"))
    return [(read_files(os.path.join(case.model_dir, d), "input", inputs), read_files(os.path.join(case.model_dir, d), "output", outputs))
            for d in folders]


def collect():
    """Yields every case that onnx has but the `real` ones."""
    sys.modules["PIL"] = None  # images as recorded in onnx, not as this machine's codec decodes them
    from onnx.backend.test.case import model as model_cases
    from onnx.backend.test.case import node as node_cases
    from onnx.backend.test.loader import load_model_tests
    yield from node_cases.collect_testcases(None)
    made = [case for case in model_cases.collect_testcases() if case.kind == "simple"]
    names = {case.name for case in made}
    yield from made
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        yield from (case for case in load_model_tests(kind=kind) if kind != "simple" or case.name not in names)


def pack_case(case):
    """The bytes of a case; None when it is too large to keep."""
    import onnx
    model = case.model
    if model is None:
        model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
    rtol, atol = case.rtol, case.atol
    for pattern, other_rtol, other_atol in TOLERANCES:
        if re.search(pattern, case.name):
            rtol, atol = other_rtol or rtol, other_atol or atol
    special = next((code for pattern, code in SPECIAL if re.search(pattern, case.name)), 0)
    out = io.BytesIO()
    name = f"{case.kind}/{case.name}".encode()
    body = model.SerializeToString()
    sets = data_sets(case, model)
    out.write(struct.pack("<H", len(name)) + name + struct.pack("<ddB", rtol, atol, special))
    out.write(struct.pack("<I", len(body)) + body + struct.pack("<H", len(sets)))
    for values in sets:
        for side in values:
            packed = [pack_value(v) for v in side]
            if any(len(p) > LARGEST for p in packed):
                return None
            out.write(struct.pack("<H", len(packed)) + b"".join(packed))
    return out.getvalue()


def packs():
    """Bytes of each pack by file name: the kinds, the node cases in parts that are about as large as one another."""
    groups, left_out = {}, []
    for case in collect():
        packed = pack_case(case)
        if packed is None:
            left_out.append(case.name)
            continue
        group = case.kind
        if case.kind == "node":
            letter = case.name[len("test_")]
            group = "node-" + next(part for part in ("ab", "c", "d-k", "l", "m-q", "r", "s-z") if re.match(f"[{part}]", letter))
        groups.setdefault(group, []).append((case.name, packed))
    for name in left_out:
        print(f"pack_suite.py: left out: {name}", file=sys.stderr)
    return {group + ".gz": gzip.compress(b"OXSUITE1" + b"".join(p for _, p in sorted(cases)), 9, mtime=0)
            for group, cases in sorted(groups.items())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    parser.add_argument("folder", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata", "suite"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    made = packs()
    if args.check:
        stale = []
        for name, data in made.items():
            path = os.path.join(args.folder, name)
            if not os.path.exists(path) or gzip.decompress(open(path, "rb").read()) != gzip.decompress(data):
                stale.append(name)
        for name in stale:
            print(f"pack_suite.py: {name} is not current", file=sys.stderr)
        return 1 if stale else 0
    os.makedirs(args.folder, exist_ok=True)
    for name, data in made.items():
        with open(os.path.join(args.folder, name), "wb") as f:
            f.write(data)
        print(f"{name} {len(data)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
