"""Cases of compare_contrib.py: gates, hyper-connections, n-gram tables and three-fold positions, which exporters of newer language models write.
A generator takes compare_contrib.Random and gives (inputs, attributes, number of outputs); None is an omitted input."""
import numpy

HALF = numpy.float16


def lead(r):
    """Axes before the last ones; now and then one is empty."""
    return [0 if r.rng.random() < 0.05 else d for d in r.sizes(r.size(3, 0), 4)]


def of_type(r, *values):
    """Float32, or all of them float16."""
    dtype = r.choice([numpy.float32, numpy.float32, HALF])
    return [value.astype(dtype) for value in values]


def scaled_silu(r):
    (x,) = of_type(r, 3 * r.real(*lead(r), r.size(9)))
    return [x, r.choice([None, numpy.float32(r.rng.normal()), HALF(r.rng.normal())])], {"alpha": float(r.rng.normal())}, 1


def gated_add(r):
    shape = [*lead(r), r.size(2000 if r.flag() else 9)]
    return of_type(r, r.real(*shape), r.real(*shape), r.real(*shape[:-1], 1)), {}, 1


def gated_norm(r):
    width = r.size(40)
    shape = [*lead(r), width * r.size(3)]
    attributes = {"epsilon": float(r.choice([1e-5, 1e-2])), "activation": r.choice(["silu", "swish", "sigmoid"])}
    return of_type(r, r.real(*shape), r.real(width), r.real(*shape)), attributes, 1


def linear_gate(r):
    shape = [*r.sizes(2), r.size(7)]
    a, b = of_type(r, 5 * r.real(*shape), r.real(*shape))
    given = r.flag()
    return [a, r.real(shape[-1]), r.real(shape[-1]), b if given else None], {}, 1 + given


def streams(r):
    """(streams, attributes, rows' axes, branches, width)."""
    rows, branches, width = lead(r), r.size(4), r.size(9)
    flat = r.flag()
    x = r.real(*rows, branches * width) if flat else r.real(*rows, branches, width)
    return x, {"num_branches": branches} if flat else {}, rows, branches, width


def branch_norm(r):
    x, attributes, _, branches, width = streams(r)
    scale = r.choice([None, r.real(width), r.real(branches * width), r.real(branches, width)])
    return [*of_type(r, x), scale], {**attributes, "epsilon": float(r.choice([1e-5, 1e-2]))}, 1


def gate_of(r, rows, branches, width, flat):
    shapes = [[branches], [branches, 1], [branches, width], *([[branches * width]] if flat else [])]
    return r.real(*rows, *r.choice(shapes)).astype(r.choice([numpy.float32, HALF]))


def pre_mix(r):
    x, attributes, rows, branches, width = streams(r)
    return [*of_type(r, x), gate_of(r, rows, branches, width, attributes)], {**attributes, "reduction_scale": float(r.rng.normal())}, 1


def post_mix(r):
    x, attributes, rows, branches, width = streams(r)
    x, block = of_type(r, x, r.real(*rows, width))
    gate = gate_of(r, rows, branches, width, False)
    return [x, block, gate, r.choice([None, r.real(*rows, branches, branches).astype(gate.dtype)])], attributes, 1


def engram(r):
    b, t, branches, width = r.sizes(4, 6)
    normed = r.flag()
    shape, scales = [b, t, branches, width], [r.real(branches, width) for _ in range(3)]
    inputs = of_type(r, r.real(*shape), r.real(*shape), r.real(b, t, width), *scales)
    return inputs[: 5 + normed], {"epsilon": float(r.choice([1e-5, 1e-2]))}, 1 + normed


def hashing(r, lead_shape, history_rows):
    """What both operators of n-grams share: (attributes, ids, multipliers, sizes, past, offsets, eos, segments)."""
    dtype = r.choice([numpy.int32, numpy.int64])
    most = int(numpy.iinfo(dtype).max)
    order, heads = r.size(4, 2), r.size(3)
    attributes = {"max_ngram_size": order, "n_head_per_ngram": heads, "pad_id": r.size(9, 0) - 2, "reset_on_eos": r.flag()}
    n = (order - 1) * heads
    multipliers = r.rng.integers(-most, most, order + r.flag()).astype(dtype)
    past = r.choice([None, r.ints(6, history_rows, order - 1, dtype=dtype)])
    offsets = r.choice([None, r.ints(100, n, dtype=dtype)])
    eos = r.choice([None, dtype(r.size(6, 0))])
    segments = r.choice([None, r.ints(2, *lead_shape, dtype=numpy.int32)])
    return attributes, r.ints(6, *lead_shape, dtype=dtype), multipliers, r.ints(50, n, dtype=dtype) + dtype(1), past, offsets, eos, segments


def ngrams(r):
    batch, length = r.size(3), r.size(8, 0)
    attributes, ids, multipliers, sizes, past, offsets, eos, segments = hashing(r, [batch, length], batch)
    return [ids, multipliers, sizes, past, offsets, eos, segments], attributes, 2


def packed_ngrams(r):
    lengths = r.sizes(r.size(3), 6)
    attributes, ids, multipliers, sizes, past, offsets, eos, segments = hashing(r, [sum(lengths)], len(lengths))
    history = attributes["max_ngram_size"] - 1
    ends = numpy.cumsum([0, *lengths]).astype(numpy.int32)
    marks = r.choice([None, r.ints(2, len(lengths), history, dtype=numpy.int32)]) if segments is not None else None
    capacity = r.choice([0, r.size(8)])
    count = r.ints(9, len(lengths), dtype=numpy.int32) - numpy.int32(1) if capacity else None
    if capacity and segments is None:
        segments = numpy.zeros(sum(lengths), numpy.int32)
    inputs = [ids, multipliers, sizes, ends, past, offsets, eos, segments, marks, count]
    return inputs, {**attributes, "state_update_capacity": capacity}, 4 if capacity else 3 if segments is not None else 2


def multi_rotary(r):
    batch, length, heads, most = r.size(3), r.size(6), r.size(3), r.size(9)
    sections = [r.size(4, 0), r.size(4, 0), r.size(4)]
    half = sum(sections)
    rest = r.choice([0, 2, 6])
    size = 2 * half + rest
    shape = [batch, heads, length, size] if r.flag() else [batch, length, heads * size]
    attributes = {"mrope_section": sections, "mrope_layout": r.flag(), "interleaved": r.flag(), "num_heads": heads, "is_packed_batching": r.flag()}
    if rest or r.flag():
        attributes["rotary_embedding_dim"] = 2 * half
    if r.flag():
        attributes["scale"] = float(r.rng.normal())
    x, cosines, sines = of_type(r, r.real(*shape), r.real(most, half), r.real(most, half))
    return [x, r.ints(most, 3, batch, length), cosines, sines], attributes, 1


def block_mask(r, layouts, blocks):
    """(block_row_indices, block_col_indices) of lower triangles that have their diagonals."""
    rows, columns = [], []
    for _ in range(layouts):
        kept = [[c for c in range(row + 1) if c == row or r.flag()] for row in range(blocks)]
        rows.append(numpy.cumsum([0, *map(len, kept)]))
        columns.append(sum(kept, []))
    longest = max(map(len, columns))
    return numpy.array(rows, numpy.int32), numpy.array([c + [-1] * (longest - len(c)) for c in columns], numpy.int32)


def sparse_attention(r):
    """Of one length in a batch: where lengths differ onnxruntime reads scores that nobody wrote."""
    batch, shared, size, most, block = r.size(3), r.size(2), 16, 64, 16
    heads = shared * r.size(3)
    rows = r.choice([1, r.size(most)])
    total = r.choice([rows, r.size(most, rows)])
    attributes = {"num_heads": heads, "kv_num_heads": shared, "sparse_block_size": block, **r.choice([{}, {"scale": 0.7}])}
    tokens = [r.real(batch, rows, (heads + 2 * shared) * size), None, None]
    if r.flag():
        tokens = [r.real(batch, rows, n * size) for n in (heads, shared, shared)]
    inputs = [*tokens, r.real(batch, shared, most, size), r.real(batch, shared, most, size), *block_mask(r, r.choice([1, heads]), most // block)]
    inputs += [numpy.array([total], numpy.int32), numpy.full(batch, total, numpy.int32)]
    if r.flag():
        inputs += [r.real(most, size // 2), r.real(most, size // 2)]
        attributes.update(do_rotary=1, rotary_interleaved=r.flag())
    return inputs, attributes, 3


CASES = {
    "ScaledSiLU": scaled_silu,
    "GatedAdd": gated_add,
    "GatedRMSNorm": gated_norm,
    "LinearAttentionGate": linear_gate,
    "BranchwiseRMSNorm": branch_norm,
    "HyperConnectionPreMix": pre_mix,
    "HyperConnectionPostMix": post_mix,
    "EngramGate": engram,
    "NGramHashMapping": ngrams,
    "VarlenNGramHashMapping": packed_ngrams,
    "MRotaryEmbedding": multi_rotary,
    "SparseAttention": sparse_attention,
    "SampleOp": lambda r: (of_type(r, r.real(*lead(r))), {}, 1),
}
