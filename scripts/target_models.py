"""One-node models, a file of them: what target_probe.py asks each release to load.

usage: target_models.py OUT.bin OUT.json     (a Python with onnx and the newest onnxruntime)

OUT.bin is a row of records "u32 length, u16 opset of ai.onnx, u16 opset of ai.onnx.ml, model"; OUT.json tells
what each stands for: [domain, operator, since, {constraint: type}, extra]. `extra` names the one constraint of an
optional input that is asked for beside the usual ones; null: the record is of the operator's own constraints.
"""

import itertools
import json
import re
import struct
import sys

import onnx
import onnx.defs
from onnx import TensorProto, TypeProto, helper

# Opset that hosts nodes of other domains, and the IR version that goes with it: every release takes both.
HOST_OPSET, HOST_IR = 12, 7
MOST_TUPLES = 2000
# The first constraint's types for which optional inputs are asked for, besides float.
EXTRA_BASES = ("tensor(float16)", "tensor(bfloat16)", "tensor(double)")
ELEMENT = {
    "float": TensorProto.FLOAT, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8,
    "uint16": TensorProto.UINT16, "int16": TensorProto.INT16, "int32": TensorProto.INT32,
    "int64": TensorProto.INT64, "string": TensorProto.STRING, "bool": TensorProto.BOOL,
    "float16": TensorProto.FLOAT16, "double": TensorProto.DOUBLE, "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64, "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128, "bfloat16": TensorProto.BFLOAT16,
    "float8e4m3fn": TensorProto.FLOAT8E4M3FN, "float8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8e5m2": TensorProto.FLOAT8E5M2, "float8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "uint4": TensorProto.UINT4, "int4": TensorProto.INT4, "float4e2m1": TensorProto.FLOAT4E2M1,
    "float8e8m0": TensorProto.FLOAT8E8M0, "uint2": TensorProto.UINT2, "int2": TensorProto.INT2,
}  # fmt: skip
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")
# Optional inputs that these operators are given: Optional is nothing without, the others' kernels read them unasked.
ALL_INPUTS = ("Optional", "QLinearLeakyRelu", "QLinearSigmoid")
# Shapes of inputs without which these have no body, 0 where a dimension may be unknown; and a rule that takes no more inputs.
SHAPES = {
    ("", "CausalConvWithState"): [(0, 0, 0), (1, 1, 1)],
    ("", "LinearAttention"): [(0, 0, 0)] * 3,
}
STRINGS = {"equation": "i->i", "mode": "TF", "kernel_type": "LINEAR", "default_string": ""}
OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional.value
VARIADIC = onnx.defs.OpSchema.FormalParameterOption.Variadic.value


def type_proto(text):
    """TypeProto of "seq(tensor(float))" and the like; None for opaque types."""
    text = text.replace(" ", "")
    out = TypeProto()
    match = re.fullmatch(r"(\w+)\((.*)\)", text)
    if not match:
        return None
    kind, inner = match.groups()
    if kind in ("tensor", "sparse_tensor"):
        if inner not in ELEMENT:
            return None
        getattr(out, kind + "_type").elem_type = ELEMENT[inner]
    elif kind in ("seq", "optional"):
        part = type_proto(inner)
        if part is None:
            return None
        getattr(out, {"seq": "sequence", "optional": "optional"}[kind] + "_type").elem_type.CopyFrom(part)
    elif kind == "map":
        key, value = inner.split(",", 1)
        part = type_proto(value if "(" in value else f"tensor({value})")
        if key not in ELEMENT or part is None:
            return None
        out.map_type.key_type = ELEMENT[key]
        out.map_type.value_type.CopyFrom(part)
    else:
        return None
    return out


class Schema:
    """What onnx's and onnxruntime's schema objects have in common."""

    def __init__(self, schema):
        self.domain = "" if schema.domain == "ai.onnx" else schema.domain
        self.name, self.since = schema.name, schema.since_version
        self.inputs = [self.param(p) for p in schema.inputs]
        self.outputs = [self.param(p) for p in schema.outputs]
        self.attributes = schema.attributes
        self.constraints = {
            c.type_param_str: sorted(t for t in c.allowed_type_strs if type_proto(t) is not None)
            for c in schema.type_constraints
        }
        self.min_input, self.min_output = schema.min_input, schema.min_output

    @staticmethod
    def param(p):
        option = getattr(p.option, "value", None)
        if option is None:
            option = int(p.option)
        text = getattr(p, "type_str", None) or getattr(p, "typeStr", "")
        return p.name, text, option

    def asked_inputs(self, extra=None):
        """Places of the inputs a node gets: the required ones, what outputs' types hang on, and the extra."""
        bound = {t for i, (_, t, option) in enumerate(self.inputs) if option != OPTIONAL}
        wanted = {t for _, t, option in self.outputs if option != OPTIONAL} - bound
        return [
            i
            for i, (_, t, option) in enumerate(self.inputs)
            if option != OPTIONAL or t in wanted or t == extra or i < self.min_input or self.name in ALL_INPUTS
        ]

    def asked_outputs(self):
        # Older releases count EmbedLayerNormalization's second output among the required ones.
        least = 2 if self.name == "EmbedLayerNormalization" else max(1, self.min_output)
        return [i for i, p in enumerate(self.outputs) if p[2] != OPTIONAL or i < least]

    def asked_constraints(self, extra=None):
        names = [self.inputs[i][1] for i in self.asked_inputs(extra)]
        names += [self.outputs[i][1] for i in self.asked_outputs()]
        return [c for c in self.constraints if c in names]

    def extras(self):
        """Constraints that only optional inputs have."""
        usual = self.asked_constraints()
        return [
            t
            for t in dict.fromkeys(t for _, t, _ in self.inputs)
            if t in self.constraints and t not in usual
        ]


def graph_of(name, inputs, outputs, nodes):
    return helper.make_graph(
        nodes,
        name,
        [helper.make_value_info(n, type_proto(t)) for n, t in inputs],
        [helper.make_value_info(n, type_proto(t)) for n, t in outputs],
    )


def body_attributes(schema, types):
    """Subgraphs of the control flow operators, as small as may be."""
    v = types.get("V", "tensor(float)")
    if schema.name == "If":
        if v.startswith("seq"):
            node = helper.make_node("SequenceEmpty", [], ["bo"], dtype=ELEMENT[v[11:-2]])
        elif v.startswith("optional"):
            node = helper.make_node("Optional", [], ["bo"], type=type_proto(v[9:-1]))
        else:
            node = helper.make_node("Constant", [], ["bo"], value=zero_tensor(v))
        then = graph_of("b", [], [("bo", v)], [node])
        other = helper.make_graph([node], "e", [], then.output)
        return {"then_branch": then, "else_branch": other}
    if schema.name == "Loop":
        step = [helper.make_node("Identity", ["bv"], ["bo"])]
        if v.startswith("seq") and schema.since < 14:  # Identity takes no sequences yet
            step = [helper.make_node("Constant", [], ["c"], value=zero_tensor(v[4:-1])),
                    helper.make_node("SequenceInsert", ["bv", "c"], ["bo"])]
        return {"body": graph_of(
            "b", [("bi", "tensor(int64)"), ("bc", "tensor(bool)"), ("bv", v)],
            [("bd", "tensor(bool)"), ("bo", v)],
            [helper.make_node("Identity", ["bc"], ["bd"]), *step])}
    if schema.name == "Scan":
        return {"num_scan_inputs": 1, "body": graph_of(
            "b", [("bv", v)], [("bo", v)], [helper.make_node("Identity", ["bv"], ["bo"])])}
    if schema.name == "SequenceMap":
        inner = types.get("S", "seq(tensor(float))")[4:-1]
        other = v[4:-1] if v.startswith("seq") else v
        return {"body": graph_of("b", [("bv", inner), ("bw", other)], [("bo", inner)],
                                 [helper.make_node("Identity", ["bv"], ["bo"])])}
    return {}


def zero_tensor(text):
    elem = type_proto(text).tensor_type.elem_type
    tensor = TensorProto(data_type=elem, dims=[1], name="v")
    if elem == TensorProto.STRING:
        tensor.string_data.append(b"")
        return tensor
    bits = {TensorProto.UINT4: 4, TensorProto.INT4: 4, TensorProto.FLOAT4E2M1: 4,
            TensorProto.UINT2: 2, TensorProto.INT2: 2}.get(elem)  # fmt: skip
    size = 1 if bits else helper.tensor_dtype_to_np_dtype(elem).itemsize
    tensor.raw_data = b"\0" * size
    return tensor


def attributes_of(schema, types):
    """Attributes that the node must have; None: we can't tell."""
    out = body_attributes(schema, types)
    if out is None:
        return None
    result = types.get(schema.outputs[0][1], schema.outputs[0][1]) if schema.outputs else ""
    from_inputs = {schema.inputs[i][1] for i in schema.asked_inputs()}
    for name, attr in schema.attributes.items():
        kind = getattr(attr.type, "value", attr.type)
        kind = int(kind)
        if name in out:
            continue
        if name in TYPE_ATTRIBUTES and schema.outputs and schema.outputs[0][1] not in from_inputs:
            inner = re.search(r"tensor\((\w+)\)", result)
            if not inner or inner[1] not in ELEMENT:
                return None
            out[name] = ELEMENT[inner[1]]
        elif name == "value" and schema.name in ("Constant", "ConstantOfShape"):
            if not result.startswith("tensor"):
                return None
            out[name] = zero_tensor(result)
        elif name.startswith("classlabels"):
            # They decide the type of the labels that come out.
            if ("int" in name) == ("int64" in result):
                out[name] = [1] if "int" in name else ["a"]
        elif attr.required:
            value = {1: 1.0, 2: 1, 3: STRINGS.get(name, ""), 4: None, 6: [1.0], 7: [1], 8: ["a"]}.get(kind)
            if value is None:
                return None
            out[name] = value
    if schema.name == "LabelEncoder" and schema.since > 1:
        for side, c in (("keys", "T1"), ("values", "T2")):
            kind = {"tensor(string)": "strings", "tensor(int64)": "int64s", "tensor(float)": "floats"}.get(types[c])
            if kind:
                out[f"{side}_{kind}"] = {"s": ["a"], "i": [1], "f": [1.0]}[kind[0]]
            else:
                out[f"{side}_tensor"] = zero_tensor(types[c])
    if schema.name == "OneHotEncoder":
        out.update({"cats_strings": ["a"]} if types["T"] == "tensor(string)" else {"cats_int64s": [1]})
    if schema.name == "CategoryMapper":
        out.update(cats_strings=["a"], cats_int64s=[1])
    if (schema.domain, schema.name) == ("", "LinearAttention"):
        out["update_rule"] = "linear"
    if schema.name in ("DictVectorizer",):
        out["int64_vocabulary" if "int64," in types["T1"] else "string_vocabulary"] = (
            [1] if "int64," in types["T1"] else ["a"])
    return out


def one_node_model(schema, types, extra):
    """Serialized; None where the operator's node can't be made up."""
    attributes = attributes_of(schema, types)
    if attributes is None:
        return None
    asked = schema.asked_inputs(extra)
    if schema.name == "QGemm" and types["TY"] != "tensor(float)":  # scale and zero point make the output quantized
        asked = list(range(len(schema.inputs)))
        types = {**types, "TYZ": types["TY"]}
    names, infos = [], []
    for i in range(max(asked) + 1 if asked else 0):
        name = f"x{i}" if i in asked else ""
        names.append(name)
        if name:
            text = schema.inputs[i][1]
            proto = type_proto(types.get(text, text))
            if proto is None:
                return None
            for dim in (SHAPES.get((schema.domain, schema.name), [])[i : i + 1] or [()])[0]:
                proto.tensor_type.shape.dim.add(**({"dim_value": dim} if dim else {}))
            infos.append(helper.make_value_info(name, proto))
    if schema.name == "Loop":
        if len(names) < 3:
            return None
    if schema.name == "Scan" and schema.since == 8 and len(names) < 2:
        return None
    outputs, results = [], []
    for i in range(max(schema.asked_outputs(), default=-1) + 1):
        outputs.append(f"y{i}")
        text = schema.outputs[i][1]
        proto = type_proto(types.get(text, text))
        if proto is None:
            return None
        results.append(helper.make_value_info(f"y{i}", proto))
    node = helper.make_node(schema.name, names, outputs, domain=schema.domain, **attributes)
    opset = schema.since if schema.domain == "" else HOST_OPSET
    imports = [helper.make_opsetid("", opset)]
    if schema.domain:
        imports.append(helper.make_opsetid(schema.domain, schema.since))
    model = helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=imports)
    model.ir_version = max(HOST_IR, helper.find_min_ir_version_for(imports[:1], ignore_unknown=True))
    ml = schema.since if schema.domain == "ai.onnx.ml" else 0
    return opset, ml, model.SerializeToString()


def tuples_of(schema):
    """Type assignments to ask for, each with the extra constraint or None."""
    names = sorted(schema.asked_constraints())
    sets = [schema.constraints[n] for n in names]
    count = 1
    for s in sets:
        count *= len(s)
    if count == 0 or count > MOST_TUPLES:
        return
    for types in itertools.product(*sets):
        yield dict(zip(names, types)), None
    base = {n: "tensor(float)" if "tensor(float)" in s else s[0] for n, s in zip(names, sets)}
    bases = [base]
    for text in EXTRA_BASES:
        if names and text in sets[0]:
            bases.append({n: text if text in s else base[n] for n, s in zip(names, sets)})
    for extra in schema.extras():
        for base in bases:
            for text in schema.constraints[extra]:
                yield {**base, extra: text}, extra


def all_schemas():
    seen = {}
    for s in onnx.defs.get_all_schemas_with_history():
        seen[("" if s.domain == "ai.onnx" else s.domain, s.name, s.since_version)] = Schema(s)
    import onnxruntime.capi.onnxruntime_pybind11_state as state

    for s in state.get_all_operator_schema():
        key = ("" if s.domain == "ai.onnx" else s.domain, s.name, s.since_version)
        if key not in seen and s.domain in ("", "ai.onnx", "ai.onnx.ml", "com.microsoft"):
            seen[key] = Schema(s)
    return [seen[k] for k in sorted(seen)]


def main():
    keys = []
    with open(sys.argv[1], "wb") as out:
        for schema in all_schemas():
            made = 0
            for types, extra in tuples_of(schema):
                record = one_node_model(schema, types, extra)
                if record is None:
                    continue
                opset, ml, data = record
                out.write(struct.pack("<IHH", len(data), opset, ml) + data)
                keys.append([schema.domain, schema.name, schema.since, types, extra])
                made += 1
            if not made:
                print("no model:", schema.domain, schema.name, schema.since, file=sys.stderr)
    with open(sys.argv[2], "w") as out:
        json.dump(keys, out)
    print(len(keys), "models", file=sys.stderr)


if __name__ == "__main__":
    main()
