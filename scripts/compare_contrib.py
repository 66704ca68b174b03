#!/usr/bin/env python3
"""Holds the operators of com.microsoft on random cases against onnxruntime's CPU kernels, or where it has none against their documented
formulas in numpy (contrib_formulas.py), at -O0 and -O2.

  compare_contrib.py [--tool PATH] [--cases N] [--seed S] [--only REGEX]

A float output: the largest difference over the largest expected value (at least 1) is at most the operator's bound. 8-bit codes: at most one
apart, in at most one element of eight (both round what a float32 sum lies beside). Everything else is equal. Exit code 0: all agree; 1: a
case departs; 2: nothing could be judged.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

import contrib_formulas
import contrib_language
import contrib_search
import contrib_states

MICROSOFT = "com.microsoft"
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"]


class Random:
    """What cases are made of."""

    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)

    def size(self, most=5, least=1):
        return int(self.rng.integers(least, most + 1))

    def sizes(self, rank, most=5):
        return [self.size(most) for _ in range(rank)]

    def flag(self):
        return int(self.rng.integers(2))

    def choice(self, values):
        return values[self.rng.integers(len(values))]

    def real(self, *shape):
        return self.rng.standard_normal(shape).astype(numpy.float32)

    def scale(self, *shape):
        return self.rng.uniform(0.01, 0.1, shape).astype(numpy.float32)

    def codes(self, dtype, *shape, most=None):
        """Codes of `dtype`; |x| <= most."""
        limits = numpy.iinfo(dtype)
        low, high = max(limits.min, -most if most else limits.min), min(limits.max, most or limits.max)
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def ints(self, below, *shape, dtype=numpy.int64):
        return self.rng.integers(0, below, shape).astype(dtype)

    def code(self):
        return self.choice([numpy.uint8, numpy.int8])

    def broadcast(self, shape):
        """A shape that broadcasts to `shape`."""
        return [1 if self.rng.random() < 0.3 else d for d in shape[self.size(len(shape), 0):]]

    def quantized(self, dtype, *shape):
        return [self.codes(dtype, *shape), self.scale(), self.codes(dtype)]

    def matrices(self, lead, m, k, n, transA=0, transB=0):
        return self.real(*lead, *((k, m) if transA else (m, k))), self.real(*lead, *((n, k) if transB else (k, n)))


# A generator gives (inputs, attributes, number of outputs). None is an omitted input.


def qlinear_binary(r):
    t, shape = r.code(), r.sizes(3)
    return [*r.quantized(t, *shape), *r.quantized(t, *r.broadcast(shape)), r.scale(), r.codes(t)], {}, 1


def qlinear_unary(r, **attributes):
    t = r.code()
    return [*r.quantized(t, *r.sizes(3)), r.scale(), r.codes(t)], attributes, 1


def qlinear_concat(r):
    t, shape, axis = r.code(), r.sizes(3), r.size(2, 0)
    parts = []
    for _ in range(r.size(3)):
        shape[axis] = r.size()
        parts += r.quantized(t, *shape)
    return [r.scale(), r.codes(t), *parts], {"axis": axis - 3 * r.flag()}, 1


def window(r, n=2):
    kernel = r.sizes(n, 3)
    return {"kernel_shape": kernel, "strides": r.sizes(n, 2), "pads": [r.size(k - 1, 0) for k in kernel * 2]}


def qlinear_average_pool(r):
    t, last = r.code(), r.flag()
    spatial = [r.size(8, 5), r.size(8, 5)]
    shape = [2, *spatial, 3] if last else [2, 3, *spatial]
    return [*r.quantized(t, *shape), r.scale(), r.codes(t)], {**window(r), "channels_last": last, "count_include_pad": r.flag()}, 1


def qlinear_global_pool(r):
    t, last = r.code(), r.flag()
    return [*r.quantized(t, *([2, 4, 5, 3] if last else [2, 3, 4, 5])), r.scale(), r.codes(t)], {"channels_last": last}, 1


def qlinear_softmax(r):
    opset = r.choice([12, 13])
    t = r.code()
    # A scale of 1 / 256 would make codes of 128, which onnxruntime lets int8 wrap; of one element alone it makes 0.
    shape = [size + 1 for size in r.sizes(3)]
    return [*r.quantized(t, *shape), numpy.float32(1 / 250), t(0 if t is numpy.uint8 else -128)], {"axis": r.size(2, 0), "opset": opset}, 1


def qlinear_reduce_mean(r):
    t = r.code()
    return [*r.quantized(t, *r.sizes(3)), r.scale(), r.codes(t)], {"axes": r.choice([[0], [1], [-1], [0, 2], [1, 2]]), "keepdims": r.flag()}, 1


def qlinear_where(r):
    t, shape = r.code(), r.sizes(3)
    return [r.ints(2, *r.broadcast(shape)).astype(bool), *r.quantized(t, *shape), *r.quantized(t, *r.broadcast(shape)), r.scale(), r.codes(t)], {}, 1


def qgemm(r):
    m, k, n = r.sizes(3, 9)
    ta, tb, each = r.flag(), r.flag(), r.flag()
    weights = r.code()
    inputs = [r.codes(numpy.uint8, *((k, m) if ta else (m, k))), r.scale(), r.codes(numpy.uint8)]
    # Weights of less than 7 bits: beyond, onnxruntime's sums of two products saturate on this machine.
    inputs += [r.codes(weights, *((n, k) if tb else (k, n)), most=60), r.scale(n) if each else r.scale(), r.codes(weights, n, most=3) if each else r.codes(weights, most=3)]
    inputs.append(r.choice([None, r.codes(numpy.int32, n, most=900)]))
    if r.flag():
        inputs += [numpy.float32(r.rng.uniform(0.05, 0.5)), r.codes(numpy.uint8)]
    return inputs, {"transA": ta, "transB": tb, "alpha": float(r.choice([1.0, 0.5]))}, 1


def to_float(r, dynamic=False):
    m, k, n = r.sizes(3, 9)
    weights = r.code()
    each = r.flag()
    scale, zero = (r.scale(n), r.codes(weights, n, most=3)) if each else (r.scale(), r.codes(weights, most=3))
    b, bias = r.codes(weights, k, n, most=60), r.choice([None, r.real(n)])
    if dynamic:
        return [r.real(m, k), b, scale, zero, bias], {}, 1
    return [r.codes(numpy.uint8, m, k), b, r.scale(), scale, r.codes(numpy.uint8), zero, bias], {}, 1


def qattention(r):
    b, s, h, n = r.size(3), r.size(5), 8, 2
    mask = r.choice([None, r.ints(s, b, dtype=numpy.int32) + 1])
    inputs = [r.codes(numpy.uint8, b, s, h), r.codes(numpy.int8, h, 3 * h, most=60), r.real(3 * h), r.scale(), r.scale() / 4, mask, r.codes(numpy.uint8), r.codes(numpy.int8, most=3)]
    return inputs, {"num_heads": n, "unidirectional": r.flag()}, 1


def quantize(r):
    t, shape = r.code(), r.sizes(3)
    axis = r.size(2, 0)
    per = [shape[axis]] if r.flag() else []
    return [r.real(*shape), r.scale(*per), r.codes(t, *per)], {"axis": axis} if per else {}, 1


def dequantize(r):
    inputs, attributes, n = quantize(r)
    return [r.codes(inputs[2].dtype.type, *inputs[0].shape), *inputs[1:]], attributes, n


def dynamic_lstm(r):
    s, b, i, h, d = r.size(4), r.size(2), r.size(5), r.size(4), r.choice([1, 2])
    inputs = [r.real(s, b, i), r.codes(numpy.int8, d, i, 4 * h, most=60), r.codes(numpy.int8, d, h, 4 * h, most=60), r.choice([None, r.real(d, 8 * h)]), None]
    inputs += [r.choice([None, r.real(d, b, h)]), None, None, r.scale(d) / 4, numpy.zeros(d, "i1"), r.scale(d) / 4, numpy.zeros(d, "i1")]
    return inputs, {"hidden_size": h, "direction": "forward" if d == 1 else "bidirectional"}, 3


def matmul_nbits(r):
    bits, block = r.choice([4, 8]), r.choice([16, 32])
    k, n = r.choice([32, 48, 64]), r.size(9)
    blocks = -(-k // block)
    zero = r.choice([None, r.codes(numpy.uint8, n, -(-blocks * bits // 8))])
    inputs = [r.real(r.size(3), k), r.codes(numpy.uint8, n, blocks, block * bits // 8), r.scale(n, blocks), zero]
    if r.flag():
        inputs += [None, r.real(n)]
    return inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, 1


def matmul_bnb4(r):
    k, n, block = r.choice([32, 33, 48]), r.size(9), r.choice([16, 32])
    inputs = [r.real(*r.choice([[3], [2, 2]]), k), r.codes(numpy.uint8, -(-n * k // 2)), r.scale(-(-n * k // block))]
    return inputs, {"K": k, "N": n, "block_size": block, "quant_type": r.flag()}, 1


def gather_block(r):
    rows, block = r.size(6), 16
    width = block * r.choice([1, 2])
    bits = r.choice([4, 8])
    zero = r.choice([None, r.codes(numpy.uint8, rows, -(-(width // block) * bits // 8))])
    inputs = [r.codes(numpy.uint8, rows, width * bits // 8), r.ints(rows, r.size(3), r.size(2)), r.scale(rows, width // block), zero]
    return inputs, {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": bits}, 1


def fused_conv(r, last=False):
    groups = r.choice([1, 2])
    channels, out = groups * r.size(3), groups * r.size(3)
    spatial = [r.size(9, 6), r.size(9, 6)]
    attributes = {**window(r), "group": groups, "dilations": r.sizes(2, 2)}
    kernel = attributes["kernel_shape"]
    if last:
        return [r.real(2, *spatial, channels), r.real(out, *kernel, channels // groups), r.choice([None, r.real(out)])], attributes, 1
    kind = r.choice(ACTIVATIONS)
    attributes["activation"] = kind
    if kind in ("LeakyRelu", "HardSigmoid"):
        attributes["activation_params"] = [0.1] if kind == "LeakyRelu" else [0.3, 0.4]
    return [r.real(2, channels, *spatial), r.real(out, channels // groups, *kernel), r.choice([None, r.real(out)])], attributes, 1


def fused_gemm(r):
    m, k, n = r.sizes(3, 9)
    ta, tb = r.flag(), r.flag()
    a, b = r.matrices([], m, k, n, ta, tb)
    kind = r.choice(ACTIVATIONS[:4])
    attributes = {"transA": ta, "transB": tb, "alpha": 0.5, "beta": 0.75, "activation": kind}
    if kind == "LeakyRelu":
        attributes["activation_alpha"] = 0.1
    return [a, b, r.choice([None, r.real(n), r.real(m, n), r.real(m, 1)])], attributes, 1


def fused_matmul(r, activation=False, batch=True):
    m, k, n = r.sizes(3, 9)
    lead = r.sizes(r.size(2, 0), 3)
    ta, tb = r.flag(), r.flag()
    attributes = {"transA": ta, "transB": tb, "alpha": float(r.choice([1.0, 0.5]))}
    a, b = r.matrices(lead, m, k, n, ta, tb)
    if batch and len(lead) == 1 and r.flag():
        # transBatch: the batch axis stands before the last.
        attributes["transBatchA"] = 1
        a = numpy.ascontiguousarray(numpy.moveaxis(a, 0, 1))
    if activation:
        kind = r.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"])
        attributes.update(activation=kind)
        if kind in ("LeakyRelu", "HardSigmoid"):
            attributes.update(activation_alpha=0.2, activation_beta=0.4)
    return [a, b], attributes, 1


def with_bias(r):
    shape = r.sizes(3, 9)
    return [r.real(*shape), r.real(shape[-1])], {}, 1


def bias_add(r):
    shape = [r.size(3), r.size(5), r.choice([320, 640])]
    return [r.real(*shape), r.real(shape[-1]), r.real(*shape)], {}, 1


def bias_softmax(r):
    b, h, s, t = r.sizes(4)
    inner = r.flag()
    shape, bias = ([b, h, s, t], [b, 1, 1, t]) if inner else ([b, h, s, t], [1, h, s, t])
    return [r.real(*shape), r.real(*bias)], {"axis": 3 if inner else 1 + r.size(2, 0), "is_inner_broadcast": inner}, 1


def bias_dropout(r):
    shape = r.sizes(3)
    return [r.real(*shape), r.real(shape[-1]), r.choice([None, r.real(*shape)])], {}, 2


def skip_norm(r, simplified=False):
    b, s, h = r.sizes(3, 9)
    skip = r.choice([[b, s, h], [1, s, h], [s, h]])
    inputs = [r.real(b, s, h), r.real(*skip), r.real(h)]
    inputs += [] if simplified else [r.choice([None, r.real(h)])]
    return inputs + [r.choice([None, r.real(h)])], {"epsilon": 1e-3}, 1


def embed_norm(r):
    b, s, h = r.sizes(3, 6)
    segments = r.flag()
    i = lambda below, *shape: r.ints(below, *shape, dtype=numpy.int32)
    inputs = [i(9, b, s), i(2, b, s) if segments else None, r.real(9, h), r.real(7, h), r.real(2, h) if segments else None, r.real(h), r.real(h)]
    prefix = numpy.tile(numpy.arange(s), (b, 1)) < r.ints(s + 1, b, 1)
    return inputs + [r.choice([None, prefix.astype(numpy.int32)]), r.choice([None, i(7, b, s)])], {"epsilon": 1e-3}, 2


def embed_norm_codes(r):
    b, s, h = r.sizes(3, 6)
    t, segments = r.code(), r.flag()
    i = lambda below, *shape: r.ints(below, *shape, dtype=numpy.int32)
    each = lambda make: [make(k) if k != 2 or segments else None for k in range(5)]
    shapes = [9, h], [7, h], [2, h], [h], [h]
    inputs = [i(9, b, s), i(2, b, s) if segments else None, *each(lambda k: r.codes(t, *shapes[k]))]
    prefix = numpy.tile(numpy.arange(s), (b, 1)) < r.ints(s + 1, b, 1)
    return [*inputs, r.choice([None, prefix.astype(numpy.int32)]), *each(lambda k: r.scale()), *each(lambda k: r.codes(t))], {"epsilon": 1e-3}, 2


def attention(r):
    b, s, n, d = r.size(3), r.size(5), r.choice([1, 2]), r.choice([2, 4])
    h = n * d
    past = r.choice([0, 3])
    mask = r.choice([None, r.ints(s + past, b, dtype=numpy.int32) + 1, (numpy.arange(s + past) <= r.ints(s + past, b, 1)).astype(numpy.int32)])
    inputs = [r.real(b, s, h), r.real(h, 3 * h), r.real(3 * h), mask, r.real(2, b, n, past, d) if past else None, r.choice([None, r.real(b, n, s, s + past)])]
    return inputs, {"num_heads": n, "unidirectional": r.flag(), "scale": float(r.choice([0.0, 0.3]))}, 2


def multi_head(r):
    b, s, t, n, d = r.size(3), r.size(5), r.size(5), r.choice([1, 2]), r.choice([2, 4])
    h = n * d
    past = r.choice([0, 3])
    t = s if past else t
    total = t + past
    bias = r.choice([None, r.real(3 * h)]) if not past else None
    mask = r.choice([None, (numpy.arange(total) <= r.ints(total, b, 1)).astype(numpy.int32)])
    inputs = [r.real(b, s, h), r.real(b, t, h), r.real(b, t, h), bias, mask, r.choice([None, r.real(b, n, s, total)])]
    inputs += [r.real(b, n, past, d), r.real(b, n, past, d)] if past else []
    return inputs, {"num_heads": n, "unidirectional": r.flag() if s == t else 0}, 3


def decoder_masked(r):
    b, n, d, most = r.size(3), r.choice([1, 2]), 4, 6
    past = r.size(5)
    inputs = [r.real(b, 1, n * d) for _ in range(3)] + [None, None, r.real(b, n, most, d), r.real(b, n, most, d), numpy.array([past], numpy.int32)]
    return inputs, {"num_heads": n, "past_present_share_buffer": 1}, 3


def group_query(r):
    b, kv, ratio, d = r.size(3), r.choice([1, 2]), r.choice([1, 2]), 16
    s = r.choice([1, r.size(4)])
    past = 3 if s == 1 and r.flag() else 0
    cache = [r.real(b, kv, 6 if past else 0, d) for _ in range(2)]
    q = [r.real(b, s, kv * ratio * d), r.real(b, s, kv * d), r.real(b, s, kv * d)]
    rotary = r.flag()
    lengths = r.ints(6, b, dtype=numpy.int32) if past else numpy.full(b, s - 1, numpy.int32)
    inputs = q + (cache if past else [None, None]) + [lengths, numpy.array(lengths.max() + 1, numpy.int32)]
    inputs += [r.real(8, d // 2), r.real(8, d // 2)] if rotary else []
    attributes = {"num_heads": kv * ratio, "kv_num_heads": kv, "do_rotary": rotary}
    attributes.update(r.choice([{}, {"local_window_size": 2}, {"softcap": 2.0}, {"scale": 0.2}]))
    # Without its caches' outputs onnxruntime does not read the past.
    return inputs, attributes, 3


def packed_attention(r):
    b, s, n, d = r.size(3), r.size(5), r.choice([1, 2]), r.choice([2, 4])
    h = n * d
    lengths = r.ints(s, b) + 1
    lengths[r.rng.integers(b)] = s
    valid = (numpy.arange(s) < lengths[:, None]).ravel()
    places = numpy.concatenate([numpy.flatnonzero(valid), numpy.flatnonzero(~valid)]).reshape(b, s).astype(numpy.int32)
    ends = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
    bias = r.choice([None, r.real(r.choice([1, b]), n, s, s)])
    hv = r.choice([h, 2 * h])
    inputs = [r.real(int(ends[-1]), h), r.real(h, 2 * h + hv), r.real(2 * h + hv), places, ends, bias]
    attributes = {"num_heads": n, **({"qkv_hidden_sizes": [h, h, hv]} if hv != h else {}), **r.choice([{}, {"scale": 0.4}])}
    return inputs, attributes, 1


def rotary(r):
    b, s, n, d = r.size(3), r.size(4), r.choice([1, 2]), 8
    positions = r.choice([r.ints(4, 1), r.ints(8, b, s)])
    attributes = {"interleaved": r.flag()}
    if r.flag():
        return [r.real(b, n, s, d), positions, r.real(8, d // 2), r.real(8, d // 2)], attributes, 1
    part = r.choice([0, 4])
    width = (part or d) // 2
    attributes.update(num_heads=n, rotary_embedding_dim=part)
    return [r.real(b, s, n * d), positions, r.real(8, width), r.real(8, width)], attributes, 1


def relative_bias(r):
    # Buckets come from a logarithm: sizes are taken at which float32 and double agree.
    buckets, heads, n = r.choice([8, 32]), r.size(3), r.size(30)
    return [r.real(buckets, heads), numpy.array(n), numpy.array(n)], {"max_distance": r.choice([20, 100]), "is_bidirectional": r.flag()}, 1


def gated_bias(r):
    b, s, n, h, d = r.size(3), r.size(5), r.size(3), 4, 8
    return [r.real(b, s, n * h), r.real(n * h), r.real(1, n, s, s), r.real(h, d), r.real(d), r.real(1, n, 1, 1)], {"num_heads": n}, 1


def experts(r, shape, hidden, count):
    """Input and scores, of which no two are near each other."""
    scores = numpy.stack([r.rng.permutation(count) for _ in range(int(numpy.prod(shape)))]) * 0.4
    return [r.real(*shape, hidden), scores.astype(numpy.float32)]


def mixture(r):
    count, hidden, inter, kind = r.size(5), r.size(9), r.size(9), r.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    wide = inter * (2 if kind == "swiglu" else 1)
    inputs = experts(r, r.choice([[r.size(9)], [2, r.size(4)]]), hidden, count)
    inputs += [r.real(count, wide, hidden), r.choice([None, r.real(count, wide)]), r.real(count, hidden, inter), r.choice([None, r.real(count, hidden)])]
    attributes = {"k": r.size(count), "activation_type": kind, "normalize_routing_weights": r.flag()}
    if kind == "swiglu":
        attributes.update(swiglu_fusion=1, **r.choice([{}, {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.8}]))
    return inputs, attributes, 1


def mixture_codes(r):
    count, hidden, inter, kind = r.size(4), 32, r.choice([32, 64]), r.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    wide, block = inter * (2 if kind == "swiglu" else 1), r.choice([0, 0, 16, 32])
    bits = 4 if block else r.choice([4, 8])

    def layer(n_out, n_in):
        per = [n_in // block] if block else []
        zeros = [count, n_out, -(-per[0] * bits // 8)] if block else [count, -(-n_out * bits // 8)]
        return r.codes(numpy.uint8, count, n_out, n_in * bits // 8), r.scale(count, n_out, *per) / 2**bits, r.choice([None, r.real(count, n_out)]), r.codes(numpy.uint8, *zeros)

    (w1, s1, b1, z1), (w2, s2, b2, z2) = layer(wide, hidden), layer(hidden, inter)
    shape, zeros = r.choice([[r.size(9)], [2, r.size(4)]]), r.flag()
    inputs = [*experts(r, shape, hidden, count), w1, s1, b1, w2, s2, b2, None, None, None, *([z1, z2] if zeros else [None, None]), None]
    inputs.append(r.choice([None, abs(r.real(int(numpy.prod(shape)), count)) + numpy.float32(0.01)]))
    attributes = {"k": r.size(count), "activation_type": kind, "normalize_routing_weights": r.flag(), "expert_weight_bits": bits}
    attributes.update({"block_size": block} if block else {})
    attributes.update({"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 7.0} if kind == "swiglu" else {})
    return inputs, attributes, 1


def masked_pool(r):
    # A mask of one plane: onnxruntime does not find the others.
    n = r.size(3)
    attributes = window(r, n)
    spatial = [r.size(7, 4) for _ in range(n)]
    return [r.real(2, 3, *spatial), r.ints(4, 1, 1, *spatial, dtype=numpy.int32)], attributes, 1


def dynamic_pads(r):
    groups, out, kernel = r.choice([1, 2]), r.size(3), r.sizes(2, 3)
    attributes = {"strides": r.sizes(2, 3), "group": groups, "dilations": r.sizes(2, 2)}
    inputs = [r.real(2, groups * 2, 5, 6), r.real(groups * 2, out, *kernel), numpy.array([r.size(k - 1, 0) for k in kernel * 2])]
    return [*inputs, r.choice([None, r.real(groups * out)])], attributes, 1


def unfold(r):
    shape = r.sizes(r.size(3), 6)
    axis = r.size(len(shape) - 1, 0)
    dtype = r.choice([numpy.float32, numpy.float64, numpy.int32, numpy.int64])
    return [r.ints(99, *shape).astype(dtype)], {"dim": axis - len(shape) * r.flag(), "size": r.size(shape[axis]), "step": r.size(3)}, 1


def linear_attention(r):
    b, t, kv, ratio, dk, dv, rule = r.size(2), r.size(5), r.size(2), r.size(2), r.size(4), r.size(4), r.choice(["linear", "gated", "delta", "gated_delta"])
    state = r.choice([None, r.real(b, kv, dk, dv)])
    decay = -abs(r.real(b, t, kv * r.choice([1, dk]))) if "gated" in rule else None
    beta = abs(r.real(b, t, r.choice([1, kv]))) if "delta" in rule else None
    inputs = [r.real(b, t, kv * ratio * dk), r.real(b, t, kv * dk) / 3, r.real(b, t, kv * dv), state, decay, beta]
    return inputs, {"q_num_heads": kv * ratio, "kv_num_heads": kv, "update_rule": rule, "scale": float(r.choice([0.0, 0.3]))}, 2


def causal_conv(r):
    b, c, k, length, dilation = r.size(3), r.size(4), r.size(4), r.size(6), r.choice([1, 1, 2, 3])
    last = r.flag()
    wide = [c, *r.sizes(r.size(2, 0), 3)] if last else [c]
    shape = lambda tokens: [b, tokens, *wide] if last else [b, c, tokens]
    count = int(numpy.prod(wide))
    held = (k - 1) * dilation
    inputs = [r.real(*shape(length)), r.real(count, 1, k), r.choice([None, r.real(count)]), r.choice([None, r.real(*shape(held))]) if held else None]
    dtype = r.choice([numpy.float32, numpy.float16])
    return [value if value is None else value.astype(dtype) for value in inputs], {"activation": r.choice(["silu", "swish", "none"]), "dilation": dilation, "channels_last": last}, 2


def nhwc_max_pool(r):
    return [r.codes(r.code(), 2, r.size(9, 6), r.size(9, 6), r.size(4))], {**window(r), "dilations": r.sizes(2, 2)}, 1


def crop_resize(r):
    boxes = r.size(3)
    low = r.rng.uniform(0, 0.4, (boxes, 2))
    rois = numpy.concatenate([low, low + r.rng.uniform(0.1, 0.7, (boxes, 2))], 1).astype(numpy.float32)
    return [r.real(2, 3, 6, 7), rois, r.ints(2, boxes, dtype=numpy.int32), numpy.array(r.sizes(2), numpy.int32)], {"mode": r.choice(["bilinear", "nearest"]), "extrapolation_value": 0.5}, 1


def grid_sample(r):
    # Not cubic on borders: onnxruntime moves the place inside, onnx's evaluator (and we) each of the 16 that it reads.
    if r.flag():
        return [r.real(2, 3, 5, 6), r.real(2, 3, 4, 2) * 0.7], {"mode": "bicubic", "padding_mode": r.choice(["zeros", "reflection"]), "align_corners": r.flag()}, 1
    return [r.real(2, 3, 5, 6), r.real(2, 3, 4, 2) * 0.7], {"mode": r.choice(["bilinear", "nearest"]), "padding_mode": r.choice(["zeros", "border", "reflection"]), "align_corners": r.flag()}, 1


def pad(r):
    mode = r.choice(["constant", "edge", "reflect"])
    inputs = [r.real(4, 5), r.rng.integers(0 if mode != "constant" else -1, 3, 4).astype(numpy.int64)]
    return inputs + ([r.real()] if mode == "constant" and r.flag() else []), {"mode": mode}, 1


def arange(r):
    t = r.choice([numpy.float32, numpy.int32, numpy.int64])
    step = t(r.choice([1, 2, -1, -3]))
    start = t(r.size(9, 0))
    return [numpy.array(start), numpy.array(t(start + step * r.size(6, 0)))] + ([numpy.array(step)] if step != 1 or r.flag() else []), {}, 1


TEXTS = ["one two  three", "", "a-b,c", "Grüße aus ÅÄÖ", "日本語 text", "x", "  ", "12 abc-34"]


def tokenizer(r):
    shape = r.choice([[r.size(4)], [r.size(3), r.size(3)]])
    texts = numpy.array([TEXTS[i] for i in r.ints(len(TEXTS), *shape).ravel()], dtype=object).reshape(shape)
    attributes = {"mark": r.flag(), "pad_value": "#", "mincharnum": r.choice([1, 2])}
    attributes.update(r.choice([{"separators": [" "]}, {"separators": [" ", "-", ","]}, {"tokenexp": "[a-zA-Z]+"}, {"tokenexp": "[a-z]+|[0-9]+"}, {"separators": [""], "mincharnum": 1}]))
    return [texts], attributes, 1


def murmur_hash(r):
    shape = r.sizes(r.size(2))
    texts = numpy.array([TEXTS[i] for i in r.ints(len(TEXTS), *shape).ravel()], dtype=object).reshape(shape)
    x = r.choice([texts, r.real(*shape), r.real(*shape).astype("d"), *(r.ints(2**31, *shape, dtype=t) for t in (numpy.int32, numpy.uint32, numpy.int64, numpy.uint64))])
    return [x], {"positive": r.flag(), "seed": r.choice([0, 42])}, 1


def word_conv(r):
    width, size, embed = 3, r.size(4), r.size(4)
    return [r.ints(9, r.size(3), width + r.size(2, 0), dtype=numpy.int32) + 1, r.real(size, 1, width, embed), r.real(size), r.real(12, embed)], {"embedding_size": size, "conv_window_size": width, "char_embedding_size": embed}, 1


def sparse_matmul(r):
    m, k, n = r.sizes(3, 6)
    ta, tb = r.flag(), r.flag()
    a, b = r.matrices([], m, k, n, ta, tb)
    a[r.rng.random(a.shape) < 0.6] = 0
    return [a, b], {"transA": ta, "transB": tb, "alpha": float(r.choice([1.0, 0.5]))}, 1


def bifurcation(r):
    n = r.size(6, 2)
    guess, found = r.ints(4, n), r.ints(4, r.size(5))
    # The source begins with what was guessed, so that the match is where it should be.
    return [guess, r.ints(4, n + 1), numpy.array(r.size(1, 0)), *r.choice([[], [found]])], {"min_ngram_size": 1, "max_ngram_size": 3}, 2


CASES = {
    "QLinearAdd": qlinear_binary,
    "QLinearMul": qlinear_binary,
    "QLinearSigmoid": qlinear_unary,
    "QLinearLeakyRelu": lambda r: qlinear_unary(r, alpha=0.1),
    "QLinearConcat": qlinear_concat,
    "QLinearAveragePool": qlinear_average_pool,
    "QLinearGlobalAveragePool": qlinear_global_pool,
    "QLinearSoftmax": qlinear_softmax,
    "QLinearReduceMean": qlinear_reduce_mean,
    "QLinearWhere": qlinear_where,
    "QGemm": qgemm,
    "QAttention": qattention,
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeMatMul": lambda r: to_float(r, dynamic=True),
    "MatMulIntegerToFloat": to_float,
    "DynamicQuantizeLSTM": dynamic_lstm,
    "MatMulInteger16": lambda r: ([r.codes(numpy.int16, 3, 5), r.codes(numpy.int16, 5, r.size(9))], {}, 1),
    "MatMulNBits": matmul_nbits,
    "MatMulBnb4": matmul_bnb4,
    "GatherBlockQuantized": gather_block,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "TransposeMatMul": lambda r: fused_matmul(r, batch=False),
    "FusedMatMulActivation": lambda r: fused_matmul(r, activation=True),
    "Gelu": lambda r: ([r.real(*r.sizes(3))], {}, 1),
    "QuickGelu": lambda r: ([r.real(*r.sizes(3))], r.choice([{}, {"alpha": 0.8}]), 1),
    "FastGelu": lambda r: r.choice([with_bias(r), ([r.real(*r.sizes(3))], {}, 1)]),
    "BiasGelu": with_bias,
    "BiasAdd": bias_add,
    "BiasSoftmax": bias_softmax,
    "BiasDropout": bias_dropout,
    "SkipLayerNormalization": skip_norm,
    "SimplifiedLayerNormalization": lambda r: ([r.real(2, 3, 8), r.real(8)], {"axis": -1, "epsilon": 1e-3}, 1),
    "SkipSimplifiedLayerNormalization": lambda r: skip_norm(r, simplified=True),
    "EmbedLayerNormalization": embed_norm,
    "QEmbedLayerNormalization": embed_norm_codes,
    "Attention": attention,
    "MultiHeadAttention": multi_head,
    "DecoderMaskedMultiHeadAttention": decoder_masked,
    "GroupQueryAttention": group_query,
    "PackedAttention": packed_attention,
    "LinearAttention": linear_attention,
    "CausalConvWithState": causal_conv,
    "RotaryEmbedding": rotary,
    "RelativePositionBias": relative_bias,
    "GatedRelativePositionBias": gated_bias,
    "MoE": mixture,
    "QMoE": mixture_codes,
    "MaxpoolWithMask": masked_pool,
    "ConvTransposeWithDynamicPads": dynamic_pads,
    "UnfoldTensor": unfold,
    "NhwcMaxPool": nhwc_max_pool,
    "NhwcConv": lambda r: fused_conv(r, last=True),
    "Inverse": lambda r: ([r.real(2, 4, 4) + 4 * numpy.eye(4, dtype=numpy.float32)], {}, 1),
    "Trilu": lambda r: ([r.real(2, 4, 5), *r.choice([[], [numpy.array(r.size(3, 0) - 2)]])], {"upper": r.flag()}, 1),
    "Range": arange,
    "Pad": pad,
    "GridSample": grid_sample,
    "CropAndResize": crop_resize,
    "Unique": lambda r: ([r.ints(4, r.size(9)).astype(numpy.float32)], {}, 3),
    "GatherND": lambda r: ([r.real(3, 4, 5), r.ints(3, r.size(3), r.size(3))], {}, 1),
    "ExpandDims": lambda r: ([r.real(3, 4), numpy.array(r.size(4, 0) - 2, numpy.int32)], {}, 1),
    "Tokenizer": tokenizer,
    "MurmurHash3": murmur_hash,
    "NGramRepeatBlock": lambda r: ([r.ints(3, 2, r.size(12)), r.real(2, 3)], {"ngram_size": r.size(3)}, 1),
    "DynamicTimeWarping": lambda r: ([abs(r.real(*r.choice([[], [1]]), *r.sizes(2, 9)))], {}, 1),
    "WordConvEmbedding": word_conv,
    "ComplexMul": lambda r: ([r.real(*r.choice([[3, 4, 2], [4, 2], [3, 1, 2]])), r.real(3, 4, 2)], {}, 1),
    "Rfft": lambda r: ([r.real(2, r.choice([4, 8, 6]), r.choice([4, 8, 10]))], {"signal_ndim": r.choice([1, 2]), "normalized": 0, "onesided": 1}, 1),
    "Irfft": lambda r: ([r.real(2, r.choice([3, 4, 5]), 2)], {"signal_ndim": 1, "normalized": 0, "onesided": 1}, 1),
    "SparseToDenseMatMul": sparse_matmul,
    "BifurcationDetector": bifurcation,
    "CDist": lambda r: ([r.real(r.size(5), 4), r.real(r.size(5), 4)], {"metric": r.choice(["euclidean", "sqeuclidean"])}, 1),
    **contrib_language.CASES,
    **contrib_states.CASES,
}
# In bfloat16, which onnxruntime has since 1.32.
CASES |= {
    "GatedRMSNorm bfloat16": contrib_states.brief(contrib_language.gated_norm),
    "LinearAttentionGate bfloat16": contrib_states.brief_gate(contrib_language.linear_gate),
}
BOUNDS = collections.defaultdict(lambda: 1e-5, Inverse=1e-4, CDist=1e-4, DynamicQuantizeLSTM=2e-2, QAttention=1e-4, MatMulNBits=1e-4, DynamicQuantizeMatMul=1e-4, BeamSearch=1e-4, WhisperBeamSearch=1e-4, **{"BeamSearch T5": 1e-4})
HALF_BOUNDS = {"MRotaryEmbedding": 1e-3, "HyperConnectionPostMix": 1e-3, "VarlenCausalConvWithState": 1e-3, "CausalConvWithState": 1e-3, "GatedDeltaNet": 1e-3, "MoEGroupRouter": 1e-3, "GatherPacked": 1e-3}  # a unit in the last place of float16, in which onnxruntime rounds every step

FIRST = {"GroupQueryAttention"}  # what stands behind the last key of a cache is nobody's
LOOSE = {"QLinearSoftmax"}  # onnxruntime's exponentials are integers of a table


def model_of(name, inputs, attributes, outputs):
    """Of an operator: what stands behind a blank in the name only tells cases apart. Values of bfloat16 are float32 outside of the node."""
    operator = name.split()[0]
    domain = "" if operator == "SimplifiedLayerNormalization" else MICROSOFT
    brief = [isinstance(value, contrib_states.Brief) for value in inputs]
    values = [value.value if isinstance(value, contrib_states.Brief) else value for value in inputs]
    names = ["" if value is None else f"x{i}" for i, value in enumerate(values)]
    ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, map(numpy.asarray, values)) if n]
    made = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    results = [onnx.ValueInfoProto(name=n) for n in made if n]
    nodes = [helper.make_node("Cast", [n], [f"{n}.brief"], to=TensorProto.BFLOAT16) for n, is_brief in zip(names, brief) if is_brief]
    inner = [f"{n}.brief" if is_brief else n for n, is_brief in zip(names, brief)]
    node = helper.make_node(operator, inner, list(made), domain=domain, **attributes)
    nodes.append(node)
    if any(brief) or attributes.get("output_dtype") == TensorProto.BFLOAT16:
        for i, n in enumerate(made):
            if n:
                node.output[i] = f"{n}.brief"
                nodes.append(helper.make_node("Cast", [f"{n}.brief"], [n], to=TensorProto.FLOAT))
    graph = helper.make_graph(nodes, "case", ports, results)
    if name == "SparseToDenseMatMul":
        # Without shapes: onnxruntime's inference does not see transposes there.
        graph.input[0].type.CopyFrom(onnx.TypeProto(sparse_tensor_type=onnx.TypeProto.SparseTensor(elem_type=TensorProto.FLOAT)))
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])


def sparse_model(model, value):
    """The same with its first input as a sparse initializer, which our program reads."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    del model.graph.input[0]
    places = numpy.flatnonzero(value)
    tensor = model.graph.sparse_initializer.add()
    tensor.values.CopyFrom(onnx.numpy_helper.from_array(value.ravel()[places], "x0"))
    tensor.indices.CopyFrom(onnx.numpy_helper.from_array(places.astype(numpy.int64)))
    tensor.dims.extend(value.shape)
    return model


def in_place(session, feed):
    """SparseAttention's caches go out in the memory in which they came."""
    copies = {name: value.copy() for name, value in feed.items()}
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in copies.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", values["x3"])
    binding.bind_ortvalue_output("y2", values["x4"])
    session.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


def by_peer(name, model, feed):
    """onnxruntime's outputs; None where it has no kernel."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None
    if name == "SparseAttention":
        return in_place(session, feed)
    if name != "SparseToDenseMatMul":
        return session.run(None, feed)
    dense = feed["x0"]
    device = onnxruntime.OrtDevice.make("cpu", 0)
    sparse = onnxruntime.SparseTensor.sparse_coo_from_numpy(numpy.array(dense.shape, numpy.int64), dense[dense != 0], numpy.ascontiguousarray(numpy.argwhere(dense)), device)
    values = {"x0": onnxruntime.OrtValue.ort_value_from_sparse_tensor(sparse), "x1": onnxruntime.OrtValue.ortvalue_from_numpy(feed["x1"])}
    return [value.numpy() for value in session.run_with_ort_values(None, values)]


def by_tool(tool, model, feed, level, folder):
    paths = {kind: os.path.join(folder, kind) for kind in ("m.onnx", "i.npz", "o.npz")}
    onnx.save(model, paths["m.onnx"])
    arguments = []
    for name, value in feed.items():
        if value.dtype == object:
            path = os.path.join(folder, f"{name}.pb")
            with open(path, "wb") as file:
                file.write(onnx.numpy_helper.from_array(value, name).SerializeToString())
            arguments += ["-i", f"{name}={path}"]
    numeric = {name: value for name, value in feed.items() if value.dtype != object}
    if numeric:
        numpy.savez(paths["i.npz"], **numeric)
        arguments += ["-i", paths["i.npz"]]
    done = subprocess.run([tool, "run", paths["m.onnx"], *arguments, "-o", paths["o.npz"], "-q", level], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip().replace(folder, "")[:200])
    with numpy.load(paths["o.npz"]) as file:
        return {name: file[name] for name in file.files}


def bound_of(name, value, model):
    if any(node.op_type == "Cast" for node in model.graph.node):
        return 8e-3  # bfloat16
    return HALF_BOUNDS.get(name, BOUNDS[name]) if numpy.asarray(value).dtype == numpy.float16 else BOUNDS[name]


def departure(expected, actual, bound, loose):
    """'' or how they differ."""
    if expected.shape != actual.shape:
        return f"{actual.shape} instead of {expected.shape}"
    if expected.dtype.kind in "OUS":
        return "" if all(str(e) == str(a) for e, a in zip(expected.ravel(), actual.ravel())) else "other strings"
    if expected.dtype != actual.dtype:
        return f"{actual.dtype} instead of {expected.dtype}"
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(expected[~finite], actual[~finite], equal_nan=True):
        return "other infinities"
    expected, actual = expected[finite], actual[finite]
    if not expected.size:
        return ""
    apart = numpy.abs(expected.astype("d") - actual.astype("d"))
    if expected.dtype.kind == "f":
        error = float(apart.max()) / max(1.0, float(numpy.abs(expected).max()))
        return "" if error <= bound else f"error {error:.3g}"
    if expected.dtype.itemsize == 1 and expected.dtype.kind != "b":
        return "" if apart.max() <= 1 and (loose or numpy.count_nonzero(apart) <= max(1, apart.size // 8)) else f"{numpy.count_nonzero(apart)} of {apart.size} codes, {apart.max():g} apart"
    return "" if not apart.any() else f"{apart.max():g} apart"


def compare(tool, name, seed, folder):
    """(who answered, departures) of one case; ('refused', reason) where the peer refuses it."""
    attributes = {}
    if name in contrib_search.MODELS:
        model, feed = contrib_search.MODELS[name](Random(seed))
        inputs = list(feed.values())
    else:
        made, attributes, outputs = CASES[name](Random(seed))
        while made[-1] is None:
            made.pop()
        model = model_of(name, made, attributes, outputs)
        made = [value.value if isinstance(value, contrib_states.Brief) else value for value in made]
        inputs = [None if value is None else numpy.asarray(value) for value in made]
        feed = {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
    formula = contrib_formulas.FORMULAS.get(name)
    try:
        expected = by_peer(name, model, feed) if not formula else None
    except Exception as reason:  # pylint: disable=broad-except
        return "refused", [str(reason)[:400]]
    who = "numpy" if formula else "onnxruntime"
    if formula:
        expected = formula(inputs, attributes)
    if expected is None:
        return "refused", ["no kernel"]
    if name == "SparseToDenseMatMul":
        model = sparse_model(model, feed.pop("x0"))
    wrong = []
    for level in ("-O0", "-O2"):
        try:
            actual = by_tool(tool, model, feed, level, folder)
        except ValueError as reason:
            wrong.append(f"{level}: {reason}")
            continue
        if name in contrib_search.MODELS:
            contrib_search.settle(model, expected, actual)
        names = [value.name for value in model.graph.output]
        for i, (output, value) in enumerate(list(zip(names, expected))[: 1 if name in FIRST else None]):
            value, ours = (contrib_states.said(name, i, each, inputs, attributes) if each is not None else None for each in (value, actual[output]))
            if value is not None and (reason := departure(numpy.asarray(value), ours, bound_of(name, value, model), name in LOOSE)):
                wrong.append(f"{level} {output}: {reason} {attributes} {[v if v is None else v.shape for v in inputs]}")
    return who, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=os.environ.get("ONNXTOOL", "build/release/onnxtool"))
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=".")
    args = parser.parse_args()
    departed = judged = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [*CASES, *contrib_search.MODELS]:
            if not re.search(args.only, name):
                continue
            tally, told = collections.Counter(), []
            for k in range(args.cases):
                who, wrong = compare(args.tool, name, [args.seed, k], folder)
                tally[who] += 1
                told += [f"    case {k}: {line}" for line in wrong] if who != "refused" or not told else []
                departed += who != "refused" and bool(wrong)
                tally["departs"] += who != "refused" and bool(wrong)
            judged += tally["onnxruntime"] + tally["numpy"]
            print(f"{name:34}", ", ".join(f"{n} {what}" for what, n in tally.items() if n), flush=True)
            print("\n".join(told[:6]) + "\n" if told else "", end="", flush=True)
    print(f"contrib: {judged} cases of {len(CASES) + len(contrib_search.MODELS)} operators, {departed} depart")
    return 2 if not judged else int(departed > 0)


if __name__ == "__main__":
    sys.exit(main())
