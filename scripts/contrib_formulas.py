"""What compare_contrib.py expects of those operators of com.microsoft that onnxruntime's CPU build has no kernel for: their documentation's
formulas in numpy's float64. FORMULAS[name](inputs, attributes) gives the outputs, None one that is not compared."""
import math

import numpy

import oracle_operators


def single(*values):
    return [numpy.asarray(value).astype(numpy.float32) for value in values]


def wide(inputs):
    return [None if value is None else value.astype("d") for value in inputs] + [None] * 8


def softmax(x, axes):
    e = numpy.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def activate(x, attributes):
    alpha, beta = attributes.get("activation_alpha", 0), attributes.get("activation_beta", 0)
    return {
        "Relu": lambda: numpy.maximum(x, 0),
        "Tanh": lambda: numpy.tanh(x),
        "Sigmoid": lambda: sigmoid(x),
        "LeakyRelu": lambda: numpy.where(x < 0, alpha * x, x),
        "HardSigmoid": lambda: numpy.clip(alpha * x + beta, 0, 1),
    }[attributes["activation"]]()


def reduce_mean(inputs, attributes):
    x, scale, zero, to_scale, to_zero = wide(inputs)[:5]
    mean = ((x - zero) * scale).mean(axis=tuple(attributes["axes"]), keepdims=bool(attributes["keepdims"]))
    limits = numpy.iinfo(inputs[0].dtype)
    return [numpy.clip(numpy.rint(mean / to_scale) + to_zero, limits.min, limits.max).astype(inputs[0].dtype)]


def fused_matmul(inputs, attributes):
    a, b = wide(inputs)[:2]
    if attributes.get("transBatchA"):
        a = numpy.moveaxis(a, 1, 0)
    a = numpy.swapaxes(a, -1, -2) if attributes["transA"] else a
    b = numpy.swapaxes(b, -1, -2) if attributes["transB"] else b
    return single(activate(attributes["alpha"] * (a @ b), attributes))


def bias_softmax(inputs, attributes):
    x, bias = wide(inputs)[:2]
    return single(softmax(x + bias, tuple(range(attributes["axis"], x.ndim))))


def bias_dropout(inputs, _):
    x, bias, residual = wide(inputs)[:3]
    return [*single(x + bias + (0 if residual is None else residual)), numpy.ones(x.shape, bool)]


def simplified(inputs, attributes):
    x, scale = wide(inputs)[:2]
    return single(x / numpy.sqrt((x * x).mean(-1, keepdims=True) + attributes["epsilon"]) * scale)


def packed_attention(inputs, attributes):
    """Sequence i is rows ends[i] to ends[i + 1] of what is packed."""
    x, weights, bias, _, _, scores = wide(inputs)[:6]
    n, h = attributes["num_heads"], inputs[0].shape[1]
    q, k, v = numpy.split(x @ weights + bias, [h, 2 * h], axis=1)
    scale = attributes.get("scale", 0) or 1 / math.sqrt(h // n)
    rows = []
    for i, (start, end) in enumerate(zip(inputs[4], inputs[4][1:])):
        heads = [part[start:end].reshape(end - start, n, -1).transpose(1, 0, 2) for part in (q, k, v)]
        product = heads[0] @ heads[1].transpose(0, 2, 1) * scale
        if scores is not None:
            product = product + scores[min(i, len(scores) - 1), :, : end - start, : end - start]
        rows.append((softmax(product, -1) @ heads[2]).transpose(1, 0, 2).reshape(end - start, -1))
    return single(numpy.concatenate(rows))


def relative_bias(inputs, attributes):
    """T5's buckets."""
    table, queries, keys = inputs
    apart = numpy.arange(int(keys))[None, :] - numpy.arange(int(queries))[:, None]
    buckets, base = table.shape[0], 0
    if attributes["is_bidirectional"]:
        buckets //= 2
        base, apart = (apart > 0) * buckets, numpy.abs(apart)
    else:
        apart = -numpy.minimum(apart, 0)
    near = buckets // 2
    far = near + (numpy.log(numpy.maximum(apart, 1) / near) / math.log(attributes["max_distance"] / near) * (buckets - near)).astype(int)
    bucket = base + numpy.where(apart < near, apart, numpy.minimum(far, buckets - 1))
    return [table[bucket].transpose(2, 0, 1)[None]]


def gated_bias(inputs, attributes):
    query, bias, rel, weight, weight_bias, eco = wide(inputs)[:6]
    b, s, _ = query.shape
    n = attributes["num_heads"]
    heads = (query + bias).reshape(b, s, n, -1).transpose(0, 2, 1, 3)
    u, r = numpy.split(sigmoid((heads @ weight + weight_bias).reshape(b, n, s, 2, -1).sum(-1)), 2, axis=-1)
    return single((u * (r * eco - 1) + 2) * rel)


def to_brief(x):
    """The nearest bfloat16, of two as near the even one."""
    bits = numpy.asarray(x, numpy.float32).view(numpy.uint32)
    bits = (bits + (0x7FFF + (bits >> 16 & 1))) & numpy.uint32(0xFFFF0000)
    return bits.view(numpy.float32).astype("d")


def gated_sum(inputs, _):
    x, y, gate, weight = wide(inputs)[:4]
    gate = to_brief(sigmoid(to_brief(gate @ weight)))
    return single(to_brief(x + to_brief(y * gate)))


def nhwc_conv(inputs, attributes):
    """Weights are (M, kH, kW, C / group)."""
    x, w, bias = wide(inputs)[:3]
    y = oracle_operators.convolve(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), None, attributes["dilations"], attributes["group"], attributes["pads"], attributes["strides"])
    return single(y.transpose(0, 2, 3, 1) + (0 if bias is None else bias))


def pairs(z):
    return numpy.stack([z.real, z.imag], -1)


def complex_mul(inputs, _):
    a, b = (value[..., 0] + 1j * value[..., 1] for value in wide(inputs)[:2])
    return single(pairs(a * b))


def rfft(inputs, attributes):
    return single(pairs(numpy.fft.rfftn(wide(inputs)[0], axes=range(-attributes["signal_ndim"], 0))))


def irfft(inputs, _):
    x = wide(inputs)[0]
    return single(numpy.fft.irfft(x[..., 0] + 1j * x[..., 1]))


FORMULAS = {
    "GatedAdd projected": gated_sum,
    "QLinearReduceMean": reduce_mean,
    "FusedMatMulActivation": fused_matmul,
    "BiasAdd": lambda inputs, _: single(sum(value for value in wide(inputs) if value is not None)),
    "BiasSoftmax": bias_softmax,
    "BiasDropout": bias_dropout,
    "SimplifiedLayerNormalization": simplified,
    "PackedAttention": packed_attention,
    "RelativePositionBias": relative_bias,
    "GatedRelativePositionBias": gated_bias,
    "NhwcConv": nhwc_conv,
    "ComplexMul": complex_mul,
    "Rfft": rfft,
    "Irfft": irfft,
}
