#!/usr/bin/env python3
"""Write lib/quant/ort_integers.inc: which operators between DequantizeLinear and QuantizeLinear onnxruntime runs on integers.

Nothing here is from a document: each operator is put between Q/DQ pairs in models of its own, onnxruntime optimizes them
(session option optimized_model_filepath, level extended), and what is left is looked at. An operator runs on integers when no
node but QuantizeLinear takes a float that was a tensor of the model. Asked for each: does it, with all of its inputs and its output quantized, for uint8,
int8, uint16 and int16; without QuantizeLinear after it; with each input left in float in turn.

Relu and Clip are no rows: onnxruntime takes them out where the integers behind them clip as they do, which depends on the zero point.
Not run by `make generate`, which has no onnxruntime.

usage: ort_integers.py [-o FILE]      needs onnx and the pinned onnxruntime
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

OUT = pathlib.Path(__file__).resolve().parent.parent / "lib/quant/ort_integers.inc"
TYPES = [("UINT8", np.uint8), ("INT8", np.int8), ("UINT16", np.uint16), ("INT16", np.int16)]
ALL = "ALL"


def op(*shapes, weights=(), extra=(), shared=False, variadic=False, n_outputs=1, bools=(), **attrs):
    """Shapes of the inputs that may be quantized; `weights` are constants among them (their index); `extra` are other inputs, arrays or None
    for what is omitted, which follow; `bools` are boolean inputs that come first. shared: output takes the scale of its input."""
    return dict(shapes=shapes, weights=weights, extra=extra, shared=shared, variadic=variadic, n_outputs=n_outputs,
                bools=bools, attrs=attrs)


I64 = np.int64
IMAGE = [1, 4, 8, 8]
OPS = {
    "Add": op([2, 8], [2, 8]),
    "ArgMax": op([2, 8], axis=1),
    "AveragePool": op(IMAGE, kernel_shape=[2, 2]),
    "Concat": op([2, 8], [2, 8], variadic=True, axis=1),
    "Conv": op(IMAGE, [4, 4, 3, 3], weights=[1]),
    "ConvTranspose": op(IMAGE, [4, 4, 3, 3], weights=[1]),
    "DepthToSpace": op(IMAGE, shared=True, blocksize=2),
    "Div": op([2, 8], [2, 8]),
    "Elu": op([2, 8]),
    "Expand": op([2, 8], extra=[np.array([3, 2, 8], I64)], shared=True),
    "Flatten": op([2, 2, 4], shared=True),
    "Gather": op([4, 8], extra=[np.array([0, 2], I64)], shared=True),
    "GatherElements": op([2, 8], extra=[np.zeros([2, 8], I64)], shared=True),
    "Gelu": op([2, 8]),
    "Gemm": op([2, 8], [8, 4], weights=[1]),
    "GlobalAveragePool": op(IMAGE),
    "GlobalMaxPool": op(IMAGE, shared=True),
    "HardSigmoid": op([2, 8]),
    "HardSwish": op([2, 8]),
    "InstanceNormalization": op(IMAGE, [4], [4], weights=[1, 2]),
    "LayerNormalization": op([2, 8], [8], weights=[1]),
    "LeakyRelu": op([2, 8]),
    "MatMul": op([2, 8], [8, 4], weights=[1]),
    "Max": op([2, 8], [2, 8]),
    "MaxPool": op(IMAGE, shared=True, kernel_shape=[2, 2]),
    "Min": op([2, 8], [2, 8]),
    "Mul": op([2, 8], [2, 8]),
    "Pad": op([2, 8], extra=[np.array([0, 1, 0, 1], I64)], shared=True),
    "ReduceMax": op([2, 8], shared=True),
    "ReduceMean": op([2, 8]),
    "Reshape": op([2, 8], extra=[np.array([4, 4], I64)], shared=True),
    "Resize": op(IMAGE, extra=[None, np.array([1, 1, 2, 2], np.float32)], shared=True),
    "Sigmoid": op([2, 8]),
    "Slice": op([2, 8], extra=[np.array([1], I64), np.array([4], I64), np.array([1], I64)], shared=True),
    "Softmax": op([2, 8]),
    "SpaceToDepth": op(IMAGE, shared=True, blocksize=2),
    "Split": op([2, 8], shared=True, n_outputs=2, axis=1, num_outputs=2),
    "Squeeze": op([1, 8], extra=[np.array([0], I64)], shared=True),
    "Sub": op([2, 8], [2, 8]),
    "Tanh": op([2, 8]),
    "Tile": op([2, 8], extra=[np.array([2, 2], I64)], shared=True),
    "TopK": op([2, 8], extra=[np.array([3], I64)], shared=True),
    "Transpose": op([2, 8], shared=True),
    "Unsqueeze": op([2, 8], extra=[np.array([0], I64)], shared=True),
    "Where": op([2, 8], [2, 8], bools=[[2, 8]]),
}


def build(kind, spec, dtype, quantized, output_quantized):
    """The operator, its inputs behind Q and DQ where `quantized` says so."""
    nodes, inits, inputs, names = [], [], [], []
    weight_type = np.int8 if np.dtype(dtype).itemsize == 1 else dtype

    def pair(name, scale, to):
        inits.extend([nh.from_array(np.float32(scale), f"{name}_s"), nh.from_array(np.array(0, to), f"{name}_z")])
        return [f"{name}_s", f"{name}_z"]

    for i, shape in enumerate(spec["bools"]):
        inputs.append(h.make_tensor_value_info(f"b{i}", T.BOOL, shape))
        names.append(f"b{i}")
    for i, shape in enumerate(spec["shapes"]):
        name = f"x{i}"
        if i in spec["weights"]:
            values = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
            if quantized[i]:
                inits.append(nh.from_array((values * 100).astype(weight_type), f"{name}_q"))
                nodes.append(h.make_node("DequantizeLinear", [f"{name}_q", *pair(name, 0.01, weight_type)], [f"{name}_d"]))
                name = f"{name}_d"
            else:
                inits.append(nh.from_array(values.astype(np.float32), name))
        else:
            inputs.append(h.make_tensor_value_info(name, T.FLOAT, shape))
            if quantized[i]:
                parameters = pair("x0" if spec["shared"] else name, 0.02, dtype)
                nodes.append(h.make_node("QuantizeLinear", [name, *parameters], [f"{name}_q"]))
                nodes.append(h.make_node("DequantizeLinear", [f"{name}_q", *parameters], [f"{name}_d"]))
                name = f"{name}_d"
        names.append(name)
    for i, value in enumerate(spec["extra"]):
        if value is not None:
            inits.append(nh.from_array(np.asarray(value), f"e{i}"))
        names.append("" if value is None else f"e{i}")
    count = 2 if kind == "TopK" else spec["n_outputs"]
    made = [f"o{i}" for i in range(count)]
    nodes.append(h.make_node(kind, names, made, **spec["attrs"]))
    outputs = []
    indices = {"ArgMax": [0], "TopK": [1]}.get(kind, [])
    for i, name in enumerate(made):
        if i in indices:
            outputs.append(h.make_tensor_value_info(name, T.INT64, None))
            continue
        if output_quantized:
            parameters = ["x0_s", "x0_z"] if spec["shared"] and quantized[0] else pair(name, 0.05, dtype)
            nodes.append(h.make_node("QuantizeLinear", [name, *parameters], [f"{name}_q"]))
            nodes.append(h.make_node("DequantizeLinear", [f"{name}_q", *parameters], [f"{name}_d"]))
            name = f"{name}_d"
        outputs.append(h.make_tensor_value_info(name, T.FLOAT, None))
    graph = h.make_graph(nodes, "g", inputs, outputs, inits)
    opset = 22 if kind == "HardSwish" else 21
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def on_integers(kind, spec, dtype, quantized=None, output_quantized=True):
    """Whether onnxruntime leaves nothing that computes on floats."""
    quantized = quantized or [True] * len(spec["shapes"])
    model = build(kind, spec, dtype, quantized, output_quantized)
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(pathlib.Path(folder) / "optimized.onnx")
        options.log_severity_level = 4
        try:
            ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as problem:
            print(f"{kind} {np.dtype(dtype).name}: {str(problem).strip()[:160]}", file=sys.stderr)
            return False
        graph = onnx.load(options.optimized_model_filepath).graph
    floats = {v.name for v in graph.input if v.type.tensor_type.elem_type == T.FLOAT}
    floats |= {o for n in graph.node if n.op_type == "DequantizeLinear" for o in n.output}
    computing = [n for n in graph.node if n.op_type not in ("QuantizeLinear", "DequantizeLinear")]
    return bool(computing) and not any(i in floats for n in computing for i in n.input)


def row(kind, spec):
    """A line of the table, or None where no form runs on integers."""
    shapes = spec["shapes"]
    types = [name for name, dtype in TYPES if on_integers(kind, spec, dtype)]
    if not types:
        return None
    dtype = dict(TYPES)[types[0]]
    output = not on_integers(kind, spec, dtype, output_quantized=False) if kind != "ArgMax" else False
    needed = [i for i in range(len(shapes))
              if not on_integers(kind, spec, dtype, [k != i for k in range(len(shapes))])]
    first = len(spec["bools"])
    end = ALL if spec["variadic"] else first + (max(needed) + 1 if needed else 0)
    mask = " | ".join(f"BIT({t})" for t in types)
    return f'{{"{kind}", {first}, {end}, {"true" if output else "false"}, {mask}}},'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=OUT)
    options = parser.parse_args()
    rows = [(kind, row(kind, spec)) for kind, spec in sorted(OPS.items())]
    lines = [f"/* Made by scripts/ort_integers.py from what onnxruntime {ort.__version__} makes of each; do not edit. */",
             "/* Operator, inputs that must be integers: from, to; whether the output too; types of activations. */",
             *(line for _, line in rows if line),
             "/* Asked, and run in float in every form: " + ", ".join(kind for kind, line in rows if not line) + ". */"]
    options.output.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
