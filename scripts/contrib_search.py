"""Cases of compare_contrib.py for the operators of com.microsoft that generate text: tiny decoders of random weights as their subgraphs.
MODELS[name](r) gives (model, feed): a model whose one node searches with a decoder like GPT-2, or with an encoder and a decoder like T5."""
import numpy
import onnx
from onnx import TensorProto, helper

MICROSOFT = "com.microsoft"
HEADS, SIZE, PLACES = 2, 4, 64
WIDTH = HEADS * SIZE


class Graph:
    """A graph under construction: names of values are counted."""

    def __init__(self, r):
        self.r, self.nodes, self.inputs, self.outputs, self.weights, self.count = r, [], [], [], [], 0

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        self.weights.append(onnx.numpy_helper.from_array(numpy.asarray(value), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def ints(self, *values):
        return self.constant(numpy.array(values, numpy.int64))

    def weight(self, *shape, scale=0.6):
        return self.constant(scale * self.r.real(*shape))

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, name, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def make(self, name):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)

    # Parts of a transformer.

    def size(self, value, axis):
        return self("Gather", self("Shape", value), self.ints(axis))

    def heads(self, x, parts=1):
        """[parts, batch, heads, rows, size] of [batch, rows, parts * WIDTH]."""
        return self("Transpose", self("Reshape", x, self.ints(0, 0, parts, HEADS, SIZE)), perm=[2, 0, 3, 1, 4])

    def attend(self, x, query, key, value, bias):
        """x and what [batch, heads, rows, size] of queries find."""
        scores = self("MatMul", query, self("Transpose", key, perm=[0, 1, 3, 2]))
        weights = self("Softmax", self("Add", scores, bias) if bias else scores, axis=-1)
        joined = self("Transpose", self("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self("Add", x, self("MatMul", self("Reshape", joined, self.ints(0, 0, WIDTH)), self.weight(WIDTH, WIDTH)))

    def causal(self, rows, past):
        """Whether row i of the new ones sees column j: [rows, past + rows]."""
        total = self("Add", past, rows)
        scalars = [self("Squeeze", value, self.ints(0)) for value in (past, total)]
        zero, one = self.constant(numpy.int64(0)), self.constant(numpy.int64(1))
        columns = self("Unsqueeze", self("Range", zero, scalars[1], one), self.ints(0))
        return self("LessOrEqual", columns, self("Unsqueeze", self("Range", *scalars, one), self.ints(1)))

    def bias(self, seen):
        return self("Where", seen, self.constant(numpy.float32(0)), self.constant(numpy.float32(-10000)))

    def key_mask(self, mask):
        """[batch, 1, 1, columns] of a mask of integers."""
        return self("Cast", self("Unsqueeze", mask, self.ints(1, 2)), to=TensorProto.BOOL)

    def logits(self, x, vocabulary, scale):
        return self("MatMul", self("Tanh", x), self.weight(WIDTH, vocabulary, scale=scale))


def gpt2(r, vocabulary, layers, scale):
    g = Graph(r)
    ids, places = (g.input(name, ["batch", "rows"], TensorProto.INT32) for name in ("input_ids", "position_ids"))
    mask = g.input("attention_mask", ["batch", "total"], TensorProto.INT32)
    pasts = [g.input(f"past_{i}", [2, "batch", HEADS, "past", SIZE]) for i in range(layers)]
    x = g("Add", g("Gather", g.weight(vocabulary, WIDTH, scale=1), ids), g("Gather", g.weight(PLACES, WIDTH, scale=1), places))
    bias = g.bias(g("And", g.causal(g.size(ids, 1), g.size(pasts[0], 3)), g.key_mask(mask)))
    presents = []
    for past in pasts:
        query, new = g("Split", g.heads(g("MatMul", x, g.weight(WIDTH, 3 * WIDTH)), 3), g.ints(1, 2), axis=0, outputs=2)
        presents.append(g("Concat", past, new, axis=3))
        key, value = g("Split", presents[-1], g.ints(1, 1), axis=0, outputs=2)
        x = g.attend(x, *(g("Squeeze", part, g.ints(0)) for part in (query, key, value)), bias)
    g.output(g.logits(x, vocabulary, scale), "logits", ["batch", "rows", vocabulary])
    for i, present in enumerate(presents):
        g.output(present, f"present_{i}", [2, "batch", HEADS, "total", SIZE])
    return g.make("decoder")


def layer_of(g, x, pasts, cross, self_bias, cross_bias):
    """A decoder's layer with attention to itself and to an encoder: x, and the keys and values with the new ones."""
    query, key, value = (g("Squeeze", part, g.ints(0)) for part in g("Split", g.heads(g("MatMul", x, g.weight(WIDTH, 3 * WIDTH)), 3), g.ints(1, 1, 1), axis=0, outputs=3))
    presents = [g("Concat", past, new, axis=2) for past, new in zip(pasts, (key, value))] if pasts else [key, value]
    x = g.attend(x, query, *presents, self_bias)
    query = g("Squeeze", g.heads(g("MatMul", x, g.weight(WIDTH, WIDTH))), g.ints(0))
    return g.attend(x, query, *cross, cross_bias), presents


def t5_encoder(r, vocabulary, layers):
    """Keys and values that the decoder's layers attend to."""
    g = Graph(r)
    ids = g.input("encoder_input_ids", ["batch", "length"], TensorProto.INT32)
    g.input("encoder_attention_mask", ["batch", "length"], TensorProto.INT32)
    x = g("Gather", g.weight(vocabulary, WIDTH, scale=1), ids)
    put_presents(g, "cross", [[g("Squeeze", g.heads(g("MatMul", x, g.weight(WIDTH, WIDTH))), g.ints(0)) for _ in range(2)] for _ in range(layers)])
    return g.make("encoder")


def put_presents(g, kind, layers):
    """[key, value] of each layer."""
    for i, parts in enumerate(layers):
        for part, value in zip(("key", "value"), parts):
            g.output(value, f"present_{part}_{kind}_{i}", ["batch", HEADS, f"{kind}_length", SIZE])


def whisper_encoder(r, vocabulary, layers, scale, features):
    """What older exporters make: it takes the first tokens too, and scores what follows them."""
    g = Graph(r)
    x = g("MatMul", g("Transpose", g.input("encoder_input_ids", ["batch", features, "length"]), perm=[0, 2, 1]), g.weight(features, WIDTH))
    ids = g.input("decoder_input_ids", ["batch", "rows"], TensorProto.INT32)
    cross = [[g("Squeeze", g.heads(g("MatMul", x, g.weight(WIDTH, WIDTH))), g.ints(0)) for _ in range(2)] for _ in range(layers)]
    y = g("Gather", g.weight(vocabulary, WIDTH, scale=1), ids)
    causal, presents = g.bias(g.causal(g.size(ids, 1), g.ints(0))), []
    for parts in cross:
        y, made = layer_of(g, y, None, parts, causal, None)
        presents.append(made)
    g.output(g.logits(y, vocabulary, scale), "logits", ["batch", "rows", vocabulary])
    g.output(x, "encoder_hidden_states", ["batch", "length", WIDTH])
    put_presents(g, "self", presents)
    put_presents(g, "cross", cross)
    return g.make("encoder")


def encoded_decoder(r, vocabulary, layers, scale, masked):
    """Of one token at a time: were their number open, onnxruntime would give it whole sequences beside their past."""
    g = Graph(r)
    ids = g.input("input_ids", ["batch", 1], TensorProto.INT32)
    mask = g.input("encoder_attention_mask", ["batch", "length"], TensorProto.INT32) if masked else None
    ports = {}
    for kind, columns in (("self", "past"), ("cross", "length")):
        ports[kind] = [[g.input(f"past_{part}_{kind}_{i}", ["batch", HEADS, columns, SIZE]) for part in ("key", "value")] for i in range(layers)]
    x = g("Gather", g.weight(vocabulary, WIDTH, scale=1), ids)
    causal = g.bias(g.causal(g.size(ids, 1), g.size(ports["self"][0][0], 2)))
    seen, presents = g.bias(g.key_mask(mask)) if mask else None, []
    for pasts, cross in zip(ports["self"], ports["cross"]):
        x, made = layer_of(g, x, pasts, cross, causal, seen)
        presents.append(made)
    g.output(g.logits(x, vocabulary, scale), "logits", ["batch", 1, vocabulary])
    put_presents(g, "self", presents)
    return g.make("decoder")


def model_of(name, attributes, inputs, outputs):
    """(model, feed). None is an omitted input."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    feed = {name: value for name, value in zip(names, inputs) if name}
    ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feed.items()]
    node = helper.make_node(name, names, [f"y{i}" for i in range(outputs)], domain=MICROSOFT, **attributes)
    results = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "search", ports, results)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    return model, feed


def one(value, dtype=numpy.int32):
    return numpy.array([value], dtype)


def settings(r, vocabulary):
    """Attributes of every search."""
    return {"eos_token_id": r.size(vocabulary - 1, 0), "pad_token_id": r.size(vocabulary - 1, 0), "no_repeat_ngram_size": r.choice([0, 0, 1, 2, 3]), **r.choice([{}, {"vocab_size": vocabulary}])}


def masks(r, batch, vocabulary):
    """vocab_mask and prefix_vocab_mask; a token at least is left."""
    made = []
    for shape in ([vocabulary], [batch, vocabulary]):
        mask = (r.rng.random(shape) < 0.7).astype(numpy.int32)
        mask[..., r.size(vocabulary - 1, 0)] = 1
        made.append(r.choice([None, mask]))
    return made


def prompt_of(r, vocabulary, pad):
    """Ids, some with padding on their left, and now and then a mask."""
    batch, length = r.size(3), r.size(5)
    ids = r.ints(vocabulary, batch, length, dtype=numpy.int32)
    mask = numpy.ones_like(ids)
    for b in range(batch):
        mask[b, : r.size(length, 1) - 1] = r.flag()
    ids[mask == 0] = pad
    return ids, r.choice([None, mask])


def greedy(r):
    vocabulary = r.size(14, 4)
    attributes = settings(r, vocabulary)
    ids, mask = prompt_of(r, vocabulary, attributes["pad_token_id"])
    longest = ids.shape[1] + r.size(8)
    inputs = [ids, one(longest), r.choice([None, one(r.size(longest))]), r.choice([None, one(r.rng.uniform(0.5, 2), numpy.float32)]), *masks(r, len(ids), vocabulary), mask]
    layers, scale = r.size(2), r.choice([1, 3])
    attributes["decoder"] = gpt2(r, vocabulary, layers, scale)
    if r.flag():
        attributes["init_decoder"] = gpt2(r, vocabulary, layers, scale)
    return model_of("GreedySearch", attributes, inputs, 1)


def sampling(r):
    vocabulary = r.size(14, 4)
    attributes = settings(r, vocabulary)
    if attributes["no_repeat_ngram_size"] == 1:  # of no token that is left there is none to draw
        attributes["no_repeat_ngram_size"] = 0
    ids, mask = prompt_of(r, vocabulary, attributes["pad_token_id"])
    batch, longest = len(ids), ids.shape[1] + r.size(8)
    inputs = [ids, one(longest), r.choice([None, one(r.size(longest))]), r.choice([None, one(r.rng.uniform(0.5, 2), numpy.float32)]), *masks(r, batch, vocabulary), mask]
    # onnxruntime takes the whole mask's penalties from the first token of the first row: a mask of that one means the same in both.
    presence = numpy.zeros([batch, vocabulary], numpy.int32)
    presence[0, 0] = r.size(3)
    inputs += [r.choice([None, presence]), one(r.size(10000))]
    attributes.update(presence_penalty=r.rng.uniform(-1, 2), temperature=r.rng.uniform(0.5, 2), top_p=r.rng.uniform(0.1, 0.95), filter_value=-1e20, min_tokens_to_keep=r.size(3, 0), custom=0, model_type=0)
    layers, scale = r.size(2), r.choice([0.3, 1])
    attributes["decoder"] = gpt2(r, vocabulary, layers, scale)
    return model_of("Sampling", attributes, inputs, r.size(2))


def beam_inputs(r, ids, mask, vocabulary, longest):
    """onnxruntime does not take the node without min_length and length_penalty."""
    beams = r.size(4)
    inputs = [ids, one(longest), one(r.choice([0, r.size(longest)])), one(beams), one(r.size(beams)), one(r.rng.uniform(-1, 2), numpy.float32)]
    return [*inputs, r.choice([None, one(r.rng.uniform(0.5, 2), numpy.float32)]), *masks(r, len(ids), vocabulary), mask]


def beam_model(r, ids, attributes, inputs, name="BeamSearch"):
    """With more batches than one onnxruntime asks of another batch's scores whether one can become better, and scores of those that ended are
    nobody's."""
    alone = len(ids) == 1
    attributes["early_stopping"] = r.flag() if alone else 1
    return model_of(name, attributes, inputs, r.size(3 if alone else 2, 2))


def beam(r):
    vocabulary = r.size(14, 4)
    attributes = settings(r, vocabulary)
    ids, mask = prompt_of(r, vocabulary, attributes["pad_token_id"])
    inputs = beam_inputs(r, ids, mask, vocabulary, ids.shape[1] + r.size(8))
    layers, scale = r.size(2), r.choice([1, 3])
    attributes.update(model_type=0, decoder=gpt2(r, vocabulary, layers, scale))
    if r.flag():
        attributes["init_decoder"] = gpt2(r, vocabulary, layers, scale)
    return beam_model(r, ids, attributes, inputs)


def beam_encoded(r):
    vocabulary = r.size(14, 4)
    attributes = settings(r, vocabulary)
    ids, mask = prompt_of(r, vocabulary, attributes["pad_token_id"])
    start = r.choice([None, r.ints(vocabulary, len(ids), r.size(4), dtype=numpy.int32)])
    inputs = beam_inputs(r, ids, mask, vocabulary, (1 if start is None else start.shape[1]) + r.size(8))
    layers, scale = r.size(2), r.choice([1, 3])
    attributes.update(model_type=1, decoder_start_token_id=r.size(vocabulary - 1, 0), encoder=t5_encoder(r, vocabulary, layers), decoder=encoded_decoder(r, vocabulary, layers, scale, True))
    return beam_model(r, ids, attributes, [*inputs, start])


def whisper(r):
    """Half of them with the rules for tokens that tell times."""
    times, first = r.flag(), r.size(14, 6)
    vocabulary = first + r.choice([r.size(8), r.size(60, 50)]) if times else first
    attributes = settings(r, vocabulary)
    features, length, batch = r.size(4), r.size(6), r.size(3)
    start = r.choice([None, r.ints(vocabulary, batch, r.size(4), dtype=numpy.int32)])
    x = r.real(batch, features, length)
    inputs = beam_inputs(r, x, None, vocabulary, (1 if start is None else start.shape[1]) + r.size(8))
    layers, scale = r.size(2), r.choice([1, 3])
    tokens = ("translate", "transcribe", "start_of_lm", "no_timestamps")
    attributes.update(model_type=2, decoder_start_token_id=r.size(first - 1, 0), beginning_timestamp_token_id=first if times else vocabulary - 1)
    attributes.update({f"{name}_token_id": r.size(first - 1, 0) for name in tokens})
    attributes.update(encoder=whisper_encoder(r, vocabulary, layers, scale, features), decoder=encoded_decoder(r, vocabulary, layers, scale, False))
    temperature = r.choice([None, one(r.rng.uniform(0.5, 2), numpy.float32)])
    return beam_model(r, x, attributes, [*inputs, start, one(1) if times else None, None, None, temperature], "WhisperBeamSearch")


def settle(model, expected, actual):
    """What onnxruntime leaves unwritten behind the step at which the last row ended takes our values, which are padding and 0 there."""
    node = model.graph.node[0]
    pad = next(attribute.i for attribute in node.attribute if attribute.name == "pad_token_id")
    mine = actual["y0"].reshape(-1, actual["y0"].shape[-1])
    end = mine.shape[1]
    while end and (mine[:, end - 1] == pad).all():
        end -= 1
    if node.op_type in ("GreedySearch", "Sampling") and expected[0].shape == actual["y0"].shape:
        expected[0][:, end + 1 :] = mine[:, end + 1 :]
    if "BeamSearch" in node.op_type and len(expected) > 1 and expected[0].shape == actual["y0"].shape:
        # Of sequences of one score either may be given.
        same = numpy.abs(expected[1] - actual["y1"]) < 1e-5
        expected[0][same] = actual["y0"][same]
    for i, step in enumerate(actual["y2"] if len(expected) > 2 and expected[2].shape == actual["y2"].shape else []):
        if not step.any():
            expected[2][i] = step


MODELS = {"GreedySearch": greedy, "Sampling": sampling, "BeamSearch": beam, "BeamSearch T5": beam_encoded, "WhisperBeamSearch": whisper}
