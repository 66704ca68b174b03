"""Operators in numpy's float64 for check_oracle.py: those that onnx's evaluator lacks, has in float32, or takes minutes for.

Written from the standard's text. operators(model) gives the classes that ReferenceEvaluator takes as new_ops.
"""
import itertools
import math
import re

import numpy
import onnx.reference.op_run
from onnx.reference.ops.aionnxml import op_svm_classifier
from onnx.reference.ops.op_rnn import RNN_14
from onnx.reference.ops.op_scan import Scan as PlainScan

OpRun = onnx.reference.op_run.OpRun
MICROSOFT = "com.microsoft"


class Gelu(OpRun):
    """Its body in the standard holds a constant as float32, and so does HardSwish's."""

    op_domain = ""

    def _run(self, x, approximate="none"):
        if approximate == "tanh":
            return (0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3))),)
        return (0.5 * x * (1 + numpy.vectorize(math.erf, otypes=["d"])(x / math.sqrt(2))),)


class HardSwish(OpRun):
    op_domain = ""

    def _run(self, x):
        return (x * numpy.clip(x / 6 + 0.5, 0, 1),)


def paddings(sizes, kernel, strides, dilations, pads, auto_pad):
    """(before, after) of each axis."""
    n = len(sizes)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        total = [max((-(-d // s) - 1) * s + (k - 1) * e + 1 - d, 0) for d, k, s, e in zip(sizes, kernel, strides, dilations)]
        less = [t // 2 for t in total]
        return [(a, t - a) if auto_pad == "SAME_UPPER" else (t - a, a) for a, t in zip(less, total)]
    return list(zip(pads[:n], pads[n:])) if pads and auto_pad == "NOTSET" else [(0, 0)] * n


def taps(x, kernel, strides, dilations, pads, outside, ceil_mode=0):
    """(place in the kernel, what it sees of x) for each place; ceil_mode lets the last window hang over, if it starts inside."""
    sizes = x.shape[2:]
    out = []
    for i, size in enumerate(sizes):
        room = size + sum(pads[i]) - (kernel[i] - 1) * dilations[i] - 1
        count = -(-room // strides[i]) + 1 if ceil_mode else room // strides[i] + 1
        if ceil_mode and (count - 1) * strides[i] >= size + pads[i][0]:
            count -= 1
        out.append(count)
    over = [max((o - 1) * s + (k - 1) * e + 1 - d - sum(p), 0) for o, s, k, e, d, p in zip(out, strides, kernel, dilations, sizes, pads)]
    wide = numpy.pad(x, [(0, 0), (0, 0), *((a, b + c) for (a, b), c in zip(pads, over))], constant_values=outside)
    for place in itertools.product(*map(range, kernel)):
        yield place, wide[(..., *(slice(p * e, p * e + (o - 1) * s + 1, s) for p, e, o, s in zip(place, dilations, out, strides)))]


def convolve(x, w, auto_pad, dilations, group, pads, strides):
    """A product of matrices a place in the kernel."""
    n = x.ndim - 2
    kernel = w.shape[2:]
    strides, dilations = strides or [1] * n, dilations or [1] * n
    pads = paddings(x.shape[2:], kernel, strides, dilations, pads, auto_pad or "NOTSET")
    w = w.reshape(group, w.shape[0] // group, *w.shape[1:])
    total = 0
    for place, seen in taps(x, kernel, strides, dilations, pads, 0):
        columns = seen.reshape(x.shape[0], group, x.shape[1] // group, -1)
        total = total + numpy.matmul(w[(..., *place)], columns)
        shape = seen.shape[2:]
    return total.reshape(x.shape[0], -1, *shape)


def by_channel(value, n):
    return value.reshape(-1, *[1] * n) if numpy.ndim(value) == 1 else value


class Conv(OpRun):
    op_domain = ""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        y = convolve(x, w, auto_pad, dilations, group or 1, pads, strides)
        return (y if b is None else y + by_channel(b, x.ndim - 2),)


class QLinearConv(OpRun):
    """Integer sums are exact in float64."""

    op_domain = ""

    def _run(self, x, xs, xz, w, ws, wz, ys, yz, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        n = x.ndim - 2
        plain = x.astype("d") - float(xz)
        weights = w.astype("d") - (wz.astype("d").reshape(-1, *[1] * (n + 1)) if numpy.ndim(wz) == 1 else float(wz))
        y = convolve(plain, weights, auto_pad, dilations, group or 1, pads, strides)
        if b is not None:
            y = y + by_channel(b, n)
        limits = numpy.iinfo(yz.dtype)
        return (numpy.clip(numpy.rint(y * by_channel(xs * ws / ys, n)) + float(yz), limits.min, limits.max).astype(yz.dtype),)


class MaxPool(OpRun):
    """Its second output, which no model of ours has, is left out."""

    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None, storage_order=None, strides=None):
        if len(self.onnx_node.output) > 1:
            raise NotImplementedError("Indices")
        n = x.ndim - 2
        strides, dilations = strides or [1] * n, dilations or [1] * n
        pads = paddings(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad or "NOTSET")
        lowest = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
        windows = taps(x, kernel_shape, strides, dilations, pads, lowest, ceil_mode or 0)
        return (numpy.maximum.reduce([seen for _, seen in windows]),)


class AveragePool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, count_include_pad=None, dilations=None, kernel_shape=None, pads=None, strides=None):
        n = x.ndim - 2
        strides, dilations = strides or [1] * n, dilations or [1] * n
        pads = paddings(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad or "NOTSET")
        counted = numpy.ones((1, 1, *x.shape[2:]))
        before = [(0, 0)] * n
        if count_include_pad:
            counted = numpy.ones((1, 1, *(d + sum(p) for d, p in zip(x.shape[2:], pads))))
        else:
            before = pads
        arguments = (kernel_shape, strides, dilations)
        sums = sum(seen for _, seen in taps(x, *arguments, pads, 0, ceil_mode or 0))
        number = sum(seen for _, seen in taps(counted, *arguments, before, 0, ceil_mode or 0))
        return (sums / number,)


class DequantizeLinear(OpRun):
    """Versions 10 and 13."""

    op_domain = ""

    def _run(self, x, scale, zero=None, axis=None, **_):
        if numpy.ndim(scale) == 1 and numpy.size(scale) > 1:
            shape = [1] * x.ndim
            shape[1 if axis is None else axis] = -1
            scale, zero = scale.reshape(shape), None if zero is None else zero.reshape(shape)
        return ((x.astype("d") - (0 if zero is None else zero.astype("d"))) * scale,)


class DynamicQuantizeLinear(OpRun):
    """In float32 at each step, as lib/ops/README.md says."""

    op_domain = ""

    def _run(self, x):
        high, low = numpy.float32(max(x.max(), 0.0)), numpy.float32(min(x.min(), 0.0))
        scale = (high - low) / numpy.float32(255) if high > low else numpy.float32(1)
        zero = numpy.rint(numpy.clip(-low / scale, 0, 255))
        codes = numpy.rint((x / scale).astype(numpy.float32)) + zero
        return (numpy.clip(codes, 0, 255).astype("u1"), numpy.array(scale, "d"), numpy.array(zero, "u1"))


class QGemm(OpRun):
    op_domain = MICROSOFT

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, c=None, y_scale=None, y_zero=None, alpha=1.0, transA=0, transB=0):
        a, b = a.astype("d") - float(a_zero), b.astype("d") - (b_zero.astype("d").reshape((-1, 1) if transB else -1) if numpy.ndim(b_zero) else float(b_zero))
        sums = (a.T if transA else a) @ (b.T if transB else b)
        if c is not None:
            sums = sums + c
        y = sums * (alpha * a_scale * b_scale)
        if y_scale is None:
            return (y,)
        limits = numpy.iinfo(y_zero.dtype)
        return (numpy.clip(numpy.rint(y / y_scale) + float(y_zero), limits.min, limits.max).astype(y_zero.dtype),)


class QLinearAdd(OpRun):
    op_domain = MICROSOFT

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
        y = (a.astype("d") - float(a_zero)) * a_scale + (b.astype("d") - float(b_zero)) * b_scale
        limits = numpy.iinfo(zero.dtype)
        return (numpy.clip(numpy.rint(y / scale) + float(zero), limits.min, limits.max).astype(zero.dtype),)


class QLinearGlobalAveragePool(OpRun):
    op_domain = MICROSOFT

    def _run(self, x, x_scale, x_zero, scale, zero, channels_last=0):
        axes = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
        y = (x.astype("d").mean(axis=axes, keepdims=True) - float(x_zero)) * x_scale
        limits = numpy.iinfo(zero.dtype)
        return (numpy.clip(numpy.rint(y / scale) + float(zero), limits.min, limits.max).astype(zero.dtype),)


class Tokenizer(OpRun):
    """With an expression alone."""

    op_domain = MICROSOFT

    def _run(self, x, mark=None, mincharnum=None, pad_value=None, tokenexp=None, separators=None, stopwords=None):
        if separators or not tokenexp:
            raise NotImplementedError("separators")
        found = [[token for token in re.findall(tokenexp, str(text)) if len(token) >= mincharnum] for text in x.ravel()]
        found = [["\x02", *tokens, "\x03"] if mark else tokens for tokens in found]
        longest = max(map(len, found), default=0)
        return (numpy.array([tokens + [pad_value] * (longest - len(tokens)) for tokens in found], dtype=object).reshape(*x.shape, longest),)


class ZipMap(OpRun):
    op_domain = "ai.onnx.ml"

    def _run(self, x, classlabels_int64s=None, classlabels_strings=None):
        keys = classlabels_int64s or classlabels_strings
        return ([dict(zip(keys, row)) for row in numpy.atleast_2d(x)],)


class RNN(RNN_14):
    op_domain = ""

    def choose_act(self, name, alpha, beta):
        return (lambda x: numpy.maximum(x, 0)) if name == "Relu" else super().choose_act(name, alpha, beta)


class Scan(PlainScan):
    """Inputs that are read backwards are turned round first; outputs stay as they are."""

    op_domain = ""

    def __init__(self, node, parameters):
        self.backwards = []
        for attribute in node.attribute:
            if attribute.name == "scan_input_directions":
                self.backwards = list(attribute.ints)
                attribute.ints[:] = [0] * len(attribute.ints)
        super().__init__(node, parameters)

    def _run(self, *values, **rest):
        states = len(values) - self.num_scan_inputs
        turned = [value[::-1] if i >= states and i - states < len(self.backwards) and self.backwards[i - states] else value for i, value in enumerate(values)]
        return super()._run(*turned, **rest)


def multiclass_probability(k, r):
    """Wu, Lin, Weng (2004), the second method, as libsvm iterates: the evaluator's Q has sums where products belong."""
    q = -(r.T * r)
    numpy.fill_diagonal(q, 0)
    numpy.fill_diagonal(q, (numpy.where(numpy.eye(k, dtype=bool), 0, r) ** 2).sum(axis=0))
    p = numpy.full(k, 1 / k)
    for _ in range(max(100, k)):
        qp = q @ p
        pqp = p @ qp
        if numpy.abs(qp - pqp).max() < 0.005 / k:
            break
        for t in range(k):
            step = (pqp - qp[t]) / q[t, t]
            p[t] += step
            pqp = (pqp + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


def operators(model):
    """What model is run with beside the evaluator's own."""
    op_svm_classifier.multiclass_probability = multiclass_probability
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    dilated = {node.op_type for node in model.graph.node if node.op_type == "MaxPool" and len(node.output) > 1}
    plain = [Gelu, HardSwish, Conv, QLinearConv, AveragePool, DynamicQuantizeLinear, QGemm, QLinearAdd, QLinearGlobalAveragePool, Tokenizer, ZipMap, RNN, Scan]
    return plain + ([] if dilated else [MaxPool]) + ([DequantizeLinear] if opset < 19 else [])
