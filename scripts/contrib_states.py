"""Cases of compare_contrib.py: what onnxruntime 1.32 added, states of packed sequences and routing, and its operators in bfloat16. A generator
takes compare_contrib.Random and gives (inputs, attributes, number of outputs); None is an omitted input. An input that is wrapped in Brief is
bfloat16 in the node."""
import numpy

HALF = numpy.float16


class Brief:
    """A float32 that the model casts to bfloat16. Its values are such."""

    def __init__(self, value):
        bits = numpy.ascontiguousarray(value, numpy.float32).view(numpy.uint32)
        self.value = (bits & numpy.uint32(0xFFFF0000)).view(numpy.float32).reshape(numpy.shape(value))


def of_type(r, *values):
    """Float32, or all of them float16 or bfloat16."""
    kind = r.size(3)
    return [value if kind == 1 or value is None else Brief(value) if kind == 2 else value.astype(HALF) for value in values]


def sequences(r):
    """(lengths, their running sums)."""
    lengths = [r.size(5, 0) for _ in range(r.size(3))]
    return lengths, numpy.cumsum([0, *lengths]).astype(numpy.int32)


def captures(r, batch):
    """(capacity, counts)."""
    capacity = r.choice([0, r.size(8)])
    return capacity, r.ints(11, batch, dtype=numpy.int32) - numpy.int32(1) if capacity else None


def packed_conv(r):
    lengths, ends = sequences(r)
    channels, taps, dilation = r.size(6), r.size(4), r.size(3)
    capacity, counts = captures(r, len(lengths))
    x, w, bias, state = of_type(r, r.real(sum(lengths), channels), r.real(channels, 1, taps), r.choice([None, r.real(channels)]), r.real(len(lengths), channels, (taps - 1) * dilation))
    attributes = {"dilation": dilation, "activation": r.choice(["none", "silu", "swish"]), "state_update_capacity": capacity}
    return [x, w, ends, bias, state, counts], attributes, r.choice([2, 3])


def delta_net(r):
    lengths, ends = sequences(r)
    batch, k_heads, per_key, k_size, v_size = len(lengths), r.size(2), r.size(3), r.size(9), r.size(9)
    form = r.choice(["ragged", "even", "batch", "packed", "packed batch"])
    if form != "ragged" and (form != "packed" or r.flag()):
        lengths = [max(lengths[0], 1)] * batch
        ends = None
    heads, tokens = k_heads * per_key, sum(lengths)
    lead = [batch, lengths[0]] if form in ("batch", "packed batch") else [tokens]
    rule, by_key = r.choice(["linear", "gated", "delta", "gated_delta"]), r.flag()
    q, k, v = r.real(*lead, k_heads, k_size), r.real(*lead, k_heads, k_size), r.real(*lead, heads, v_size)
    if form.startswith("packed"):
        q, k, v = numpy.concatenate([part.reshape(*lead, -1) for part in (q, k, v)], -1), None, None
    decay = -abs(r.real(*lead, heads, *([k_size] if by_key else []))) if "gated" in rule else None
    beta = abs(r.real(*lead, heads)) if "delta" in rule else None
    capacity, counts = captures(r, batch)
    attributes = {"update_rule": rule, "qk_l2_norm": 1, "state_update_capacity": capacity, "beta_activation": r.choice(["none", "sigmoid"])}
    attributes.update(r.choice([{}, {"scale": 0.3}]))
    a_log = bias = None
    if decay is not None and r.flag():
        attributes.update(gate_activation=r.choice(["softplus", "qwen", "sigmoid", "kda"]), gate_lower_bound=float(r.choice([-5.0, -2.0])))
        a_log, bias = r.real(heads) / 2, r.real(*r.choice([[heads], *([[heads, k_size], [heads * k_size]] if by_key else [])]))
    state = r.real(batch, heads, v_size, k_size)
    if form == "batch" or ends is not None and not form.startswith("packed"):
        state = r.choice([None, state])
    q, k, v, half_decay, half_beta = of_type(r, q, k, v, decay, beta)
    gates = [half_decay, half_beta] if r.flag() else [decay, beta]
    active = r.choice([None, numpy.array([r.flag()], numpy.int32)])
    return [q, k, v, ends, *gates, state, a_log, bias, counts, active], attributes, r.choice([2, 3])


def group_router(r):
    groups, width = r.size(4), r.size(8)
    experts, kept = groups * width, r.size(groups)
    x, = of_type(r, 2 * r.real(*r.sizes(r.size(2)), experts))
    attributes = {"n_group": groups, "topk_group": kept, "group_topk": r.size(3), "top_k": r.size(kept * width), "router_sentinel": float(r.choice([-10000.0, -50.0]))}
    return [x, r.real(experts) / 5], attributes, 1


def full_router(r):
    experts, rows = r.size(40), r.size(6, 0)
    if r.flag():
        x, = of_type(r, 2 * r.real(rows, experts))
        return [x, r.real(experts)], {"top_k": 1}, ["", "y1", "y2"]
    x, w = of_type(r, r.real(rows, 256), r.real(experts, 256) / 16)
    return [x, r.real(experts), w], {"top_k": 1}, ["", "y1", "y2"]


# Formats of rows by number: elements and bytes of a block, and where in it halves stand, which are to be finite.
FORMATS = {0: (1, 4, []), 1: (1, 2, [0]), 2: (32, 18, [0]), 6: (32, 22, [0]), 8: (32, 34, [0]), 13: (256, 176, [0, 2]), 14: (256, 210, [208]), 20: (32, 18, [0]), 23: (256, 136, [0]), 30: (1, 2, []), 42: (64, 18, [0])}


def gather_packed(r):
    kind = r.choice(list(FORMATS))
    elements, size, halves = FORMATS[kind]
    rows, blocks = r.size(5), r.size(3) if elements > 1 else r.size(20)
    data = r.codes(numpy.uint8, rows, blocks, size)
    if kind in (0, 30):
        value = r.real(rows, blocks, 1)
        data = value.view(numpy.uint8)[..., 4 - size:]
    for at in halves:
        data[..., at : at + 2] = (r.real(rows, blocks, 1) / 10).astype(HALF).view(numpy.uint8)
    dtype = r.choice([1, 10, 16])
    indices = r.ints(rows + 2, *r.sizes(r.size(2, 0)), dtype=r.choice([numpy.int32, numpy.int64])) - 1
    return [numpy.ascontiguousarray(data).reshape(rows, -1), indices], {"packed_type": kind, "K": blocks * elements, "output_dtype": dtype}, 1


def brief(make):
    """The same case in bfloat16: every float32 of it, but where onnxruntime's own types say float."""

    def made(r):
        inputs, attributes, n = make(r)
        return [Brief(value) if getattr(value, "dtype", None) in (numpy.float32, HALF) else value for value in inputs], attributes, n

    return made


def brief_gate(make):
    def made(r):
        inputs, attributes, n = make(r)
        return [Brief(value) if value is not None and i in (0, 3) else value for i, value in enumerate(inputs)], attributes, n

    return made


def gated_sum(r):
    """GatedAdd whose gates are projected, which is in bfloat16 alone."""
    rows, width, inner = r.sizes(r.size(2)), r.size(9), r.size(30)
    return [Brief(r.real(*rows, width)), Brief(r.real(*rows, width)), Brief(r.real(*rows, inner)), Brief(r.real(inner, 1))], {}, 1


def chunks(r):
    """GroupQueryAttention on chunks with padding, and how many tokens of each count."""
    b, kv, ratio, size, rows = r.size(3), r.choice([1, 2]), r.choice([1, 2]), 16, r.size(5)
    counts = r.ints(rows + 1, b, dtype=numpy.int32)
    past = r.ints(6, b, dtype=numpy.int32)
    past += (past + counts == 0).astype(numpy.int32)
    totals = past + counts
    slides = r.size(3) == 1
    window = r.size(4)
    held = window + r.size(3, 0) if slides else int(past.max()) + r.size(3, 0)
    room = int(totals.max()) if slides else max(held, int((past + rows).max()) + r.size(2, 0))
    cache = [r.real(b, kv, held, size) for _ in range(2)]
    rotary = r.flag()
    inputs = [r.real(b, rows, kv * ratio * size), r.real(b, rows, kv * size), r.real(b, rows, kv * size), *cache, totals - 1, numpy.array(room, numpy.int32)]
    inputs += [r.real(20, size // 2), r.real(20, size // 2)] if rotary else [None, None]
    inputs += [None] * 7 + [counts]
    attributes = {"num_heads": kv * ratio, "kv_num_heads": kv, "do_rotary": rotary, **({"local_window_size": window, "sliding_window_cache": 1} if slides else r.choice([{}, {"local_window_size": 2}, {"softcap": 2.0}]))}
    return inputs, attributes, 3


CASES = {
    "VarlenCausalConvWithState": packed_conv,
    "GatedDeltaNet": delta_net,
    "MoEGroupRouter": group_router,
    "MoEGroupRouter full": full_router,
    "GatherPacked": gather_packed,
    "GroupQueryAttention chunks": chunks,
    "GatedAdd projected": gated_sum,
}


def said(name, i, value, inputs, attributes):
    """Output i without what the operator leaves open."""
    value = numpy.array(value)
    if name == "GroupQueryAttention chunks":
        rows = inputs[16]
        totals = inputs[5] + 1
        if i and attributes.get("sliding_window_cache"):
            room, window = inputs[3].shape[2], attributes["local_window_size"]
            step = room - window + 1
            totals = numpy.where(totals <= room, totals, totals - step * -(-(totals - room) // step))
        for b in range(value.shape[0]):
            if i == 0:
                value[b, rows[b] :] = 0
            else:
                value[b, :, totals[b] :] = 0
    return value
