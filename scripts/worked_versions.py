"""Cases for operator versions that neither ONNX's suite nor ops_diff.py has: models in the textual syntax, inputs, and what the standard's text makes
of them, by hand or by numpy. pack_versions.py packs them."""
import numpy as np

f, i = np.float32, np.int64
X = np.array([[1, -2, 3], [4, 5, -6]], f)
IMAGE = np.arange(1, 17, dtype=f).reshape(1, 1, 4, 4)
TWO = np.array([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]], f)
ML = "ai.onnx.ml"


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def model(version, signature, body, domain=""):
    ir = 13 if version > 20 else 8
    imports = f'"{domain}" : {version}' + (', "" : 15' if domain else "")
    return f"<ir_version: {ir}, opset_import: [{imports}]> g {signature} {{ {body} }}"


def standard():
    s, b, mean, var = (np.array(v, f) for v in ([1, 2], [0.5, -1], [2, 6], [4, 0.25]))
    shape = (1, 2, 1, 1)
    normal = (TWO - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + f(1e-5)) * s.reshape(shape) + b.reshape(shape)
    yield ("BatchNormalization", 1, "(float[1,2,2,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,2,2] y)",
           "y = BatchNormalization <is_test = 1, epsilon = 0.00001, consumed_inputs = [0, 0, 0, 1, 1]> (x, s, b, m, v)", [TWO, s, b, mean, var], [normal])
    yield ("BatchNormalization", 9, "(float[1,2,2,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,2,2] y)",
           "y = BatchNormalization <epsilon = 0.00001> (x, s, b, m, v)", [TWO, s, b, mean, var], [normal])
    yield "Bernoulli", 15, "(float[4] x) => (float[4] y)", "y = Bernoulli (x)", [np.array([0, 1, 1, 0], f)], [np.array([0, 1, 1, 0], f)]
    yield "Cast", 1, "(float[2,3] x) => (int32[2,3] y)", 'y = Cast <to = "INT32"> (x)', [X + f(0.5)], [np.array([[1, -1, 3], [4, 5, -5]], np.int32)]
    yield "Clip", 1, "(float[2,3] x) => (float[2,3] y)", "y = Clip <min = -1.0, max = 4.0> (x)", [X], [np.clip(X, -1, 4)]
    yield ("DepthToSpace", 1, "(float[1,4,1,2] x) => (float[1,1,2,4] y)", "y = DepthToSpace <blocksize = 2> (x)",
           [np.arange(8, dtype=f).reshape(1, 4, 1, 2)], [np.array([[[[0, 2, 1, 3], [4, 6, 5, 7]]]], f)])
    for version, attributes in ((1, "<is_test = 1, ratio = 0.9>"), (6, "<is_test = 1, ratio = 0.9>"), (7, "<ratio = 0.9>"), (12, ""), (13, "")):
        yield "Dropout", version, "(float[2,3] x) => (float[2,3] y)", f"y = Dropout {attributes} (x)", [X], [X]
    a, w, c = np.array([[1, 2], [3, 4]], f), np.array([[1, 0, 2], [-1, 3, 1]], f), np.array([10, 20, 30], f)
    yield ("Gemm", 1, "(float[2,2] a, float[2,3] w, float[3] c) => (float[2,3] y)", "y = Gemm <alpha = 0.5, beta = 2.0, broadcast = 1> (a, w, c)",
           [a, w, c], [f(0.5) * (a @ w) + 2 * c])
    yield ("GlobalLpPool", 1, "(float[1,2,2,2] x) => (float[1,2,1,1] y)", "y = GlobalLpPool <p = 2.0> (x)", [TWO],
           [np.sqrt((TWO ** 2).sum((2, 3), keepdims=True))])
    for version in (2, 22):
        yield ("GlobalLpPool", version, "(float[1,2,2,2] x) => (float[1,2,1,1] y)", "y = GlobalLpPool <p = 3> (x)", [TWO],
               [np.cbrt((TWO ** 3).sum((2, 3), keepdims=True))])
    for version in (21, 23, 24, 25):
        for truth in (True, False):
            yield ("If", version, "(bool c, float[2,3] x) => (float[2,3] y)",
                   "y = If <then_branch = t () => (p) { p = Neg (x) }, else_branch = e () => (q) { q = Abs (x) }> (c)",
                   [np.array(truth), X], [-X if truth else np.abs(X)])
    for version in (19, 21, 23, 24):
        yield ("Loop", version, "(int64 n, bool c, float[3] x) => (float[3] y, float[m,3] all)",
               "y, all = Loop <body = b (int64 k, bool go, float[3] v) => (bool on, float[3] w, float[3] s) { on = Identity (go) w = Add (v, v) s = Identity (v) }> (n, c, x)",
               [np.array(3, i), np.array(True), X[0]], [8 * X[0], np.stack([X[0], 2 * X[0], 4 * X[0]])])
    for version in (11, 16, 19, 21, 23, 24):
        yield ("Scan", version, "(float[3] z, float[2,3] x) => (float[3] y, float[2,3] all)",
               "y, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = b (float[3] v, float[3] row) => (float[3] w, float[3] s) { w = Add (v, row) s = Identity (w) }> (z, x)",
               [np.zeros(3, f), X], [X[1] + X[0], np.stack([X[1], X[1] + X[0]])])
    yield ("LpPool", 1, "(float[1,1,4,4] x) => (float[1,1,2,2] y)", "y = LpPool <p = 1.0, kernel_shape = [2, 2], strides = [2, 2]> (x)", [IMAGE],
           [np.array([[[[14, 22], [46, 54]]]], f)])
    for version in (1, 22):
        yield ("MaxRoiPool", version, "(float[1,1,4,4] x, float[2,5] r) => (float[2,1,2,2] y)", "y = MaxRoiPool <pooled_shape = [2, 2]> (x, r)",
               [IMAGE, np.array([[0, 0, 0, 3, 3], [0, 1, 1, 2, 2]], f)], [np.array([[[[6, 8], [14, 16]]], [[[6, 7], [10, 11]]]], f)])
    for version in (7, 22):
        yield ("Multinomial", version, "(float[2,3] x) => (int32[2,4] y)", "y = Multinomial <sample_size = 4> (x)",
               [np.array([[-1e30, 0, -1e30], [0, -1e30, -1e30]], f)], [np.array([[1] * 4, [0] * 4], np.int32)])
    yield ("Optional", 28, "(float[2,3] x) => (float[2,3] y, bool h)", "o = Optional (x) y = OptionalGetElement (o) h = OptionalHasElement (o)", [X], [X, np.array(True)])
    yield ("Pad", 1, "(float[2,3] x) => (float[3,5] y)", 'y = Pad <paddings = [0, 1, 1, 1], mode = "constant", value = 7.0> (x)', [X],
           [np.pad(X, ((0, 1), (1, 1)), constant_values=7)])
    steps, w, r = np.array([[[1, 2]], [[0.5, -1]]], f), np.array([[[0.1, -0.2], [0.3, 0.4]]], f), np.array([[[0.5, 0], [-0.5, 0.25]]], f)
    h = np.zeros(2, f)
    for step in steps[:, 0]:
        h = np.tanh(w[0] @ step + r[0] @ h)
    yield ("RNN", 1, "(float[2,1,2] x, float[1,2,2] w, float[1,2,2] r) => (float[1,1,2] h)", '"", h = RNN <hidden_size = 2> (x, w, r)', [steps, w, r], [h.reshape(1, 1, 2)])
    for version in (1, 22):
        yield "RandomNormal", version, "() => (float[2,3] y)", "y = RandomNormal <mean = 2.5, scale = 0.0, shape = [2, 3]> ()", [], [np.full((2, 3), 2.5, f)]
        yield "RandomNormalLike", version, "(float[2,3] x) => (float[2,3] y)", "y = RandomNormalLike <mean = -1.5, scale = 0.0> (x)", [X], [np.full((2, 3), -1.5, f)]
        yield "RandomUniform", version, "() => (float[2,3] y)", "y = RandomUniform <low = 1.5, high = 1.5, shape = [2, 3]> ()", [], [np.full((2, 3), 1.5, f)]
        yield "RandomUniformLike", version, "(float[2,3] x) => (float[2,3] y)", "y = RandomUniformLike <low = 0.25, high = 0.25> (x)", [X], [np.full((2, 3), 0.25, f)]
    yield ("Resize", 10, "(float[1,1,2,2] x, float[4] s) => (float[1,1,4,6] y)", 'y = Resize <mode = "nearest"> (x, s)', [TWO[:, :1], np.array([1, 1, 2, 3], f)],
           [np.repeat(np.repeat(TWO[:, :1], 2, 2), 3, 3)])
    yield ("Resize", 11, "(float[1,1,2,2] x, float[0] r, float[4] s) => (float[1,1,4,4] y)", 'y = Resize <mode = "linear"> (x, r, s)',
           [TWO[:, :1], np.zeros(0, f), np.array([1, 1, 2, 2], f)],
           [np.array([[[[1, 1.25, 1.75, 2], [1.5, 1.75, 2.25, 2.5], [2.5, 2.75, 3.25, 3.5], [3, 3.25, 3.75, 4]]]], f)])
    yield ("RoiAlign", 10, "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y)", "y = RoiAlign <sampling_ratio = 2> (x, r, b)",
           [IMAGE, np.array([[0, 0, 2, 2]], f), np.zeros(1, i)], [np.array([[[[6]]]], f)])
    yield ("Split", 1, "(float[2,3] x, float[2] s) => (float[2,1] a, float[2,2] b)", "a, b = Split <axis = 1> (x, s)", [X, np.array([1, 2], f)], [X[:, :1], X[:, 1:]])
    yield ("Tile", 1, "(float[2,3] x, float n, float a) => (float[2,9] y)", "y = Tile (x, n, a)", [X, np.array(3, f), np.array(1, f)], [np.tile(X, (1, 3))])
    yield ("Upsample", 1, "(float[1,1,2,2] x) => (float[1,1,4,6] y)", 'y = Upsample <height_scale = 2.0, width_scale = 3.0, mode = "nearest"> (x)', [TWO[:, :1]],
           [np.repeat(np.repeat(TWO[:, :1], 2, 2), 3, 3)])


TREE = ("nodes_treeids = [0, 0, 0, 0, 0, 1], nodes_nodeids = [0, 1, 2, 3, 4, 0], nodes_featureids = [1, 0, 0, 0, 0, 0], nodes_values = [0.5, 2.0, 0.0, 0.0, 0.0, 0.0], "
        'nodes_modes = ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "LEAF"], nodes_truenodeids = [1, 3, 0, 0, 0, 0], nodes_falsenodeids = [2, 4, 0, 0, 0, 0]')


def classical():
    w, bias = np.array([[0.5, -1, 2], [1, 0.25, -0.5]], f), np.array([0.1, 0.2], f)
    given = "coefficients = [0.5, -1.0, 2.0, 1.0, 0.25, -0.5], intercepts = [0.1, 0.2]"
    yield "LinearRegressor", 1, "(float[2,3] x) => (float[2,2] y)", f"y = LinearRegressor <{given}, targets = 2> (x)", [X], [X @ w.T + bias]
    scores = X @ w.T + bias
    yield ("LinearClassifier", 1, "(float[2,3] x) => (int64[2] y, float[2,2] z)",
           f'y, z = LinearClassifier <{given}, classlabels_ints = [7, 9], multi_class = 1, post_transform = "SOFTMAX"> (x)', [X],
           [np.array([7, 9], i)[scores.argmax(1)], softmax(scores)])
    vectors, alpha = np.array([[1, 0.5, -1], [0, 2, 1]], f), np.array([0.5, -0.25], f)
    support = "kernel_params = [0.5, 0.0, 3.0], support_vectors = [1.0, 0.5, -1.0, 0.0, 2.0, 1.0]"
    kernel = np.exp(-0.5 * ((X[:, None] - vectors) ** 2).sum(-1))
    yield ("SVMRegressor", 1, "(float[2,3] x) => (float[2,1] y)",
           f'y = SVMRegressor <kernel_type = "RBF", {support}, n_supports = 2, coefficients = [0.5, -0.25], rho = [0.125]> (x)', [X],
           [(kernel @ alpha + 0.125).reshape(2, 1).astype(f)])
    decision = (kernel @ alpha + 0.125).astype(f)  # of the first class, as libsvm votes
    yield ("SVMClassifier", 1, "(float[2,3] x) => (int64[2] y, float[2,2] z)",
           f'y, z = SVMClassifier <kernel_type = "RBF", {support}, vectors_per_class = [1, 1], coefficients = [0.5, -0.25], rho = [0.125], classlabels_ints = [3, 5]> (x)', [X],
           [np.where(decision > 0, 3, 5).astype(i), np.stack([-decision, decision], 1)])
    yield ("Scaler", 1, "(float[2,3] x) => (float[2,3] y)", "y = Scaler <offset = [1.0, 0.0, -1.0], scale = [2.0, 0.5, 3.0]> (x)", [X],
           [(X - np.array([1, 0, -1], f)) * np.array([2, 0.5, 3], f)])
    for norm, size in (("MAX", np.abs(X).max(1)), ("L1", np.abs(X).sum(1)), ("L2", np.sqrt((X ** 2).sum(1)))):
        yield "Normalizer", 1, "(float[2,3] x) => (float[2,3] y)", f'y = Normalizer <norm = "{norm}"> (x)', [X], [X / (X.max(1) if norm == "MAX" else size)[:, None]]
    codes = np.array([3, 1, 4], i)
    yield ("OneHotEncoder", 1, "(int64[3] x) => (float[3,2] y)", "y = OneHotEncoder <cats_int64s = [1, 3], zeros = 1> (x)", [codes], [np.array([[0, 1], [1, 0], [0, 0]], f)])
    words = np.array(["b", "a", "z"], object)
    yield ("LabelEncoder", 1, "(string[3] x) => (int64[3] y)", 'y = LabelEncoder <classes_strings = ["a", "b"], default_int64 = -5> (x)', [words], [np.array([1, 0, -5], i)])
    yield ("LabelEncoder", 1, "(int64[3] x) => (string[3] y)", 'y = LabelEncoder <classes_strings = ["a", "b"], default_string = "none"> (x)',
           [np.array([1, 0, 6], i)], [np.array(["b", "a", "none"], object)])
    yield ("CategoryMapper", 1, "(string[3] x) => (int64[3] y)", 'y = CategoryMapper <cats_strings = ["a", "b"], cats_int64s = [10, 20], default_int64 = -1> (x)',
           [words], [np.array([20, 10, -1], i)])
    yield "Imputer", 1, "(float[2,3] x) => (float[2,3] y)", "y = Imputer <imputed_value_floats = [0.5, 0.25, 9.0], replaced_value_float = -2.0> (x)", [X], [np.array([[1, 0.25, 3], [4, 5, -6]], f)]
    yield ("FeatureVectorizer", 1, "(float[2,3] x, float[2,1] z) => (float[2,4] y)", "y = FeatureVectorizer <inputdimensions = [3, 1]> (x, z)",
           [X, np.array([[8], [9]], f)], [np.array([[1, -2, 3, 8], [4, 5, -6, 9]], f)])
    yield ("DictVectorizer", 1, "(map(string, float) x) => (float[1,3] y)", 'y = DictVectorizer <string_vocabulary = ["a", "b", "c"]> (x)',
           [{"c": f(2.5), "a": f(-1)}], [np.array([[-1, 0, 2.5]], f)])
    yield ("CastMap", 1, "(map(int64, float) x) => (float[1,4] y)", 'y = CastMap <cast_to = "TO_FLOAT", map_form = "SPARSE", max_map = 4> (x)',
           [{1: f(2.5), 3: f(-1)}], [np.array([[0, 2.5, 0, -1]], f)])
    yield ("ZipMap", 1, "(float[2,3] x) => (seq(map(int64, float)) y)", "y = ZipMap <classlabels_int64s = [10, 20, 30]> (x)", [X],
           [[{10: row[0], 20: row[1], 30: row[2]} for row in X]])
    # Root: x[1] <= 0.5, then x[0] > 2; leaves 2, 3, 4. The second tree is one leaf.
    leaf = np.where(X[:, 1] <= 0.5, np.where(X[:, 0] > 2, 3, 4), 2)
    value = {2: 1.5, 3: -2.0, 4: 0.25}
    sums = np.array([[value[n] + 10] for n in leaf], f)
    for version in (1, 3):
        yield ("TreeEnsembleRegressor", version, "(float[2,3] x) => (float[2,1] y)",
               f"y = TreeEnsembleRegressor <{TREE}, target_treeids = [0, 0, 0, 1], target_nodeids = [2, 3, 4, 0], target_ids = [0, 0, 0, 0], target_weights = [1.5, -2.0, 0.25, 10.0], n_targets = 1, base_values = [0.5]> (x)",
               [X], [sums + f(0.5)])
        votes = np.array([{2: [0.75, 0.5], 3: [0, 1.25], 4: [0.5, 0.75]}[n] for n in leaf], f)
        yield ("TreeEnsembleClassifier", version, "(float[2,3] x) => (int64[2] y, float[2,2] z)",
               f"y, z = TreeEnsembleClassifier <{TREE}, class_treeids = [0, 0, 0, 0, 0, 1], class_nodeids = [2, 2, 3, 4, 4, 0], class_ids = [0, 1, 1, 0, 1, 1], class_weights = [0.75, 0.25, 1.0, 0.5, 0.5, 0.25], classlabels_int64s = [6, 8]> (x)",
               [X], [np.array([6, 8], i)[votes.argmax(1)], votes])


def cases():
    """(name, model text, inputs, outputs)"""
    for domain, rows in (("", standard()), (ML, classical())):
        for k, (name, version, signature, body, inputs, outputs) in enumerate(rows):
            prefix = f"{domain}." if domain else ""
            text = model(version, signature, body.replace(f"= {name} ", f"= {prefix}{name} ", 1), domain)
            yield f"worked_{name}_{version}_{k}", text, inputs, outputs
