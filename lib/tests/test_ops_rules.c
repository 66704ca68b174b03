/* Shape rules of elementwise operators and reductions, and the values that they carry: shown as the shape that
 * ConstantOfShape makes of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check/findings.h"
#include "shape/shapes.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_model *model;
static struct ox_shapes *shapes;
static char text[4096];

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_env_release(env);
    shapes = NULL;
    model = NULL;
}

static void infer(int opset, const char *inputs, const char *body)
{
    struct ox_error err;
    teardown();
    setup();
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : %d, \"ai.onnx.ml\" : 5]> g (%s) => (z) { %s }",
             opset, inputs, body);
    enum ox_status status = ox_model_open_memory(&model, env, text, strlen(text), NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    status = ox_shapes_infer(&shapes, model, NULL, NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
}

static void expect(const char *name, const char *wanted)
{
    struct ox_strbuf printed = {0};
    const struct ox_type *type = ox_shapes_type(shapes, ox_graph_value(model->graph, name));
    if (type)
        ox_type_print(&printed, type, true);
    else
        ox_strbuf_puts(&printed, "unknown");
    ck_assert_msg(strcmp(printed.data, wanted) == 0, "%s is %s, not %s", name, printed.data,
                  wanted);
    ox_strbuf_release(&printed);
}

static size_t n_findings(void)
{
    return ox_findings_count(ox_shapes_findings(shapes));
}

/* What `expression` makes of s, the shape of float[n,m,6] x, and k, a list of three constants. */
static void check_value(const char *expression, const char *k, const char *wanted)
{
    char body[1024];
    snprintf(body, sizeof body,
             "s = Shape(x) k = Constant<value = int64[3] {%s}>() v = %s z = ConstantOfShape(v)", k,
             expression);
    infer(21, "float[n,m,6] x", body);
    char shape[256];
    snprintf(shape, sizeof shape, "float32[%s]", wanted);
    expect("z", shape);
    ck_assert_uint_eq(n_findings(), 0);
}

START_TEST(arithmetic_carries_expressions)
{
    check_value("Add(s, k)", "1, 2, 3", "n+1,m+2,9");
    check_value("Sub(s, k)", "0, 0, 3", "n,m,3");
    check_value("Mul(s, k)", "2, 1, 3", "2*n,m,18");
    check_value("Mul(k, s)", "0, 1, 3", "0,m,18");
    check_value("Div(s, k)", "2, 1, 4", "n//2,m,1");
    check_value("Mod(s, k)", "2, 3, 4", "n-2*(n//2),m-3*(m//3),2");
    check_value("Max(s, k)", "0, 3, 4", "n,max(3,m),6");
    check_value("Min(s, k)", "4, 3, 4", "min(4,n),min(3,m),4");
    check_value("Pow(s, k)", "2, 1, 0", "n*n,m,1");
    check_value("Abs(s)", "0, 0, 0", "n,m,6");
    check_value("Relu(s)", "0, 0, 0", "n,m,6");
    check_value("Identity(s)", "0, 0, 0", "n,m,6");
}
END_TEST

START_TEST(integer_division_is_known_where_it_is_exact)
{
    check_value("Div(k, k)", "7, -7, 1", "1,1,1");
    infer(21, "float[n] x",
          "k = Constant<value = int64[2] {-7, 7}>() two = Constant<value = int64[1] {2}>() q = "
          "Div(k, two) v = Abs(q) z = "
          "ConstantOfShape(v)");
    expect("z", "float32[3,3]");
}
END_TEST

START_TEST(scalars_broadcast_over_values)
{
    infer(21, "float[n,m] x",
          "s = Shape(x) k = Constant<value_int = 3>() v = Mul(s, k) z = ConstantOfShape(v)");
    expect("z", "float32[3*n,3*m]");
}
END_TEST

START_TEST(choices_are_known_where_the_condition_is)
{
    infer(21, "float[n,m] x",
          "s = Shape(x) k = Constant<value_ints = [-1, -1]>() c = Equal(s, k) one = "
          "Constant<value_ints = [1, 1]>() v = "
          "Where(c, one, s) z = ConstantOfShape(v)");
    expect("z", "float32[n,m]");
    infer(21, "float[4,m] x",
          "s = Shape(x) k = Constant<value_ints = [5, -1]>() c = Less(s, k) d = Not(c) one = "
          "Constant<value_ints = [7, 8]>() v "
          "= Where(d, one, s) z = ConstantOfShape(v)");
    expect("z", "float32[4,8]");
}
END_TEST

START_TEST(casts_and_roundings_carry_values)
{
    infer(21, "float[n,m] x",
          "s = Shape(x) f = Cast<to = 1>(s) k = Constant<value = float[2] {2.0, 1.0}>() p = Mul(f, "
          "k) r = Floor(p) v = Cast<to = "
          "7>(r) z = ConstantOfShape(v)");
    expect("z", "float32[2*n,m]");
    infer(21, "float[300,m] x",
          "s = Shape(x) b = Cast<to = 2>(s) c = Cast<to = 7>(b) z = ConstantOfShape(c)");
    expect("z", "float32[44,c[1]]");
}
END_TEST

START_TEST(reductions_carry_values)
{
    infer(21, "float[n,m,2] x",
          "s = Shape(x) v = ReduceProd<keepdims = 1>(s) z = ConstantOfShape(v)");
    expect("z", "float32[2*n*m]");
    infer(21, "float[n,m,2] x",
          "s = Shape(x) v = ReduceSum<keepdims = 1>(s) z = ConstantOfShape(v)");
    expect("z", "float32[n+m+2]");
    infer(21, "float[n,m,2] x",
          "s = Shape(x) a = Constant<value_int = 0>() v = CumSum(s, a) z = ConstantOfShape(v)");
    expect("z", "float32[n,n+m,n+m+2]");
}
END_TEST

START_TEST(what_wraps_is_not_carried)
{
    infer(21, "float[n] x",
          "k = Constant<value = int32[1] {65536}>() v = Mul(k, k) w = Cast<to = 7>(v) z = "
          "ConstantOfShape(w)");
    expect("z", "float32[0]");
    infer(21, "float[300] x",
          "s = Shape(x) b = Cast<to = 2>(s) c = Add(b, b) d = Add(c, c) e = Add(d, d) v = Cast<to "
          "= 7>(e) z = "
          "ConstantOfShape(v)");
    expect("z", "float32[96]");
}
END_TEST

START_TEST(clips_carry_values)
{
    infer(21, "float[9,m] x",
          "s = Shape(x) a = Constant<value_int = 1>() b = Constant<value_int = 5>() v = Clip(s, a, "
          "b) z = "
          "ConstantOfShape(v)");
    expect("z", "float32[5,min(5,m)]");
}
END_TEST

START_TEST(reductions_drop_axes)
{
    infer(13, "float[n,m,6] x", "z = ReduceMax<axes = [1], keepdims = 0>(x)");
    expect("z", "float32[n,6]");
    infer(18, "float[n,m,6] x", "a = Constant<value_ints = [-1, 0]>() z = ReduceMax(x, a)");
    expect("z", "float32[1,m,1]");
    infer(18, "float[n,m,6] x", "z = ReduceMean<noop_with_empty_axes = 1>(x)");
    expect("z", "float32[n,m,6]");
    infer(18, "float[n,m,6] x, int64[k] a", "z = ReduceMean(x, a)");
    expect("z", "float32[ReduceMean_0.dim0,ReduceMean_0.dim1,ReduceMean_0.dim2]");
    infer(13, "float[n,m,6] x", "z = ArgMax<axis = 1, keepdims = 0>(x)");
    expect("z", "int64[n,6]");
    infer(13, "float[n,m,6] x", "z = ReduceMax<axes = [1], keepdims = 2>(x)"); /* kept by 1 alone */
    expect("z", "float32[n,6]");
}
END_TEST

START_TEST(an_axis_out_of_range_is_a_finding)
{
    infer(13, "float[n,m] x", "z = ReduceMax<axes = [2]>(x)");
    ck_assert_uint_eq(n_findings(), 1);
    infer(13, "float[n,m] x", "z = Softmax<axis = 2>(x)");
    ck_assert_uint_eq(n_findings(), 1);
    infer(11, "float[n,m] x", "z = Softmax<axis = 1>(x)");
    ck_assert_uint_eq(n_findings(), 0);
}
END_TEST

START_TEST(sizes_past_64_bits_are_a_finding)
{
    infer(22, "float[1,1,9] x, float[1,1,3] w",
          "z = Conv<dilations = [4611686018427387904]>(x, w)");
    ck_assert_uint_eq(n_findings(), 1);
    infer(22, "float[1,1,3] x, float[1,1,3] w",
          "z = ConvTranspose<strides = [4611686018427387904]>(x, w)");
    ck_assert_uint_eq(n_findings(), 1);
    infer(24, "float[2,4,24] q, float[2,6,24] k, float[2,6,24] v",
          "z = Attention<q_num_heads = 9223372036854775807, kv_num_heads = 3>(q, k, v)");
    ck_assert_uint_eq(n_findings(), 1);
}
END_TEST

START_TEST(an_attribute_that_names_no_element_type_is_a_finding)
{
    static const char *const bodies[][2] = {{"RandomUniformLike<dtype", "(x)"},
                                            {"RandomNormal<shape = [2], dtype", "()"},
                                            {"Bernoulli<dtype", "(x)"},
                                            {"EyeLike<dtype", "(x)"},
                                            {"Cast<to", "(x)"},
                                            {"SequenceEmpty<dtype", "()"},
                                            {"HannWindow<output_datatype", "(n)"}};
    static const char *const types[] = {"0", "-9223372036854775808", "4294967297", "1"};
    for (size_t i = 0; i < OX_COUNT(bodies); i++) {
        for (size_t k = 0; k < OX_COUNT(types); k++) {
            char body[128];
            snprintf(body, sizeof body, "z = %s = %s>%s", bodies[i][0], types[k], bodies[i][1]);
            infer(22, "float[3,3] x, int64 n", body);
            ck_assert_msg(n_findings() == (k + 1 < OX_COUNT(types)), "%s: %zu findings", body,
                          n_findings());
        }
    }
}
END_TEST

/* What onnx's own inference refuses, one thing wrong in each. */
START_TEST(inputs_and_lists_that_do_not_fit_are_findings)
{
    static const struct {
        const char *inputs, *body;
    } wrong[] = {
        {"float[1,2,8,8] x, float[3,4,1] r, int64[3] i", "z = RoiAlign(x, r, i)"},
        {"float[3,5,2] x, int64[3] t", "z = NegativeLogLikelihoodLoss<reduction = \"sum\">(x, t)"},
        {"float[3,5] x, int64[4] t", "z = NegativeLogLikelihoodLoss<reduction = \"sum\">(x, t)"},
        {"float[3] x, float r, bool[1] t", "z = Dropout(x, r, t)"},
        {"float[1,2,4] x, float[2,1] s, float[2] v", "z = BatchNormalization(x, s, v, v, v)"},
        {"float[1,2,4,4] x, float[1,3,3,3] g", "z = GridSample(x, g)"},
        {"int64[3] x, int64 d, float[3] v", "z = OneHot(x, d, v)"},
        {"float[6] x, int64[2,1] s", "z = Reshape(x, s)"},
        {"int64[2,1] s", "z = ConstantOfShape(s)"},
        {"float[6] x, int64[3] s", "z, y = Split(x, s)"},
        {"float[1,1,4,4] x, int64[3] s", "z = Resize(x, , , s)"},
        {"float[1,1,4,4] x, int64[4] s",
         "z = Resize<keep_aspect_ratio_policy = \"other\">(x, , , s)"},
        {"float[1,8,6] x, int64[2] s", "z = Col2Im<strides = [1, 1, 1]>(x, s, s)"},
        {"float[5,2,3,1] x, float[1,4,3] w, float[1,4,4] r", "z = LSTM<hidden_size = 4>(x, w, r)"},
        {"float[3] x, int64[2] i", "q = SequenceEmpty<dtype = 7>() z = SequenceInsert(q, x)"},
    };
    for (size_t i = 0; i < OX_COUNT(wrong); i++) {
        infer(22, wrong[i].inputs, wrong[i].body);
        ck_assert_msg(n_findings() > 0, "%s: no finding", wrong[i].body);
    }
}
END_TEST

#define TREE                                                                                       \
    "z = ai.onnx.ml.TreeEnsemble<tree_roots = [0], nodes_featureids = [0], nodes_modes = "         \
    "uint8[1] {0}, nodes_splits = double[1] {0.5}, nodes_truenodeids = [0], nodes_trueleafs = "    \
    "[1], nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0,0], "              \
    "leaf_weights = double[2] {1,2}>(x)"

/* Neighbours, one of which onnx's own inference refuses: a NULL message is for those that it takes. */
static const struct refusal {
    int opset;
    const char *inputs, *body, *message;
} refusals[] = {
    {11, "float x", "z = Softmax<axis = 0>(x)", "rank 0"},
    {13, "float x", "z = Hardmax(x)", "rank 0"},
    {1, "float x", "z = LogSoftmax(x)", NULL},
    {12, "float[2,3] x", "z = Softmax<axis = 2>(x)", "axis"},
    {12, "float[2,3] x", "z = Softmax<axis = -2>(x)", NULL},
    {9, "int64 x, int64 d, float[2] v", "z = OneHot(x, d, v)", "rank 0"},
    {9, "int64[1] x, int64 d, float[2] v", "z = OneHot(x, d, v)", NULL},
    {10, "int64 d, float[2] v", "i = Constant<value = int64[2] {1,-1}>() z = OneHot(i, d, v)",
     "indices[1] is -1"},
    {11, "int64 d, float[2] v", "i = Constant<value = int64[2] {1,-1}>() z = OneHot(i, d, v)",
     NULL},
    {22, "float[5] x, int64 t", "z = NegativeLogLikelihoodLoss(x, t)", "rank 1"},
    {22, "float[4,4] x, int64 s", "z = ReverseSequence(x, s)", "rank 0"},
    {16, "float[1,2,8] x, float[3,4] r, int64[3] i", "z = RoiAlign(x, r, i)", "rank 3"},
    {16, "float[1,2,8,8] x, float[3,4] r, int64[4] i", "z = RoiAlign(x, r, i)", "regions"},
    {16, "float[1,2,8,8] x, float[3,5] r, int64[3] i", "z = RoiAlign(x, r, i)", NULL},
    {22, "float[1,2,8,8] x, float[3,5] r, int64[3] i", "z = RoiAlign(x, r, i)", "coordinates"},
    {23, "float[2,8] x, float[9,2] c", "z = RotaryEmbedding(x, c, c)", "rank is 2"},
    {23, "float[2,8,4] x, float[9,2] c", "z = RotaryEmbedding(x, c, c)", "num_heads"},
    {23, "float[2,8,4] x, float[9,2] c", "z = RotaryEmbedding<num_heads = 2>(x, c, c)", NULL},
    {17, "float[9] x, int64 n", "z = STFT(x, n, , n)", "rank 1"},
    {17, "float[1] x", "n = Constant<value_int = 0>() z = HannWindow(n)", "size is 0"},
    {23, "float16[2,4] x, float[4] s", "z = RMSNormalization(x, s)", "float16"},
    {9, "int32 x",
     "z = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = "
     "\"TF\", ngram_counts = [0], ngram_indexes = [0], pool_int64s = [7]>(x)",
     "rank 0"},
    {9, "int32[3] x",
     "z = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = "
     "\"TF\", ngram_counts = [0], ngram_indexes = [-1], pool_int64s = [7]>(x)",
     "ngram_indexes[0] is -1"},
    {11, "float[5] x", "k = Constant<value_ints = [1, 2]>() z, i = TopK(x, k)", "2 elements"},
    {11, "float[5] x", "k = Constant<value_int = 1>() z, i = TopK(x, k)", "rank 0"},
    {11, "float[5] x", "k = Constant<value_ints = [1]>() z, i = TopK(x, k)", NULL},
    /* An attribute that says what an input says too. */
    {21, "float[4] x, float s, uint8 o", "z = QuantizeLinear<output_dtype = 3>(x, s, o)", "int8"},
    {21, "float[4] x, float s, uint8 o", "z = QuantizeLinear<output_dtype = 2>(x, s, o)", NULL},
    {21, "float[4] x, float s", "z = QuantizeLinear<output_dtype = -1>(x, s)", "output_dtype"},
    {21, "float[4] x, float s", "z = QuantizeLinear<output_dtype = 1>(x, s)", "float"},
    {21, "float[4] x, float s", "z = QuantizeLinear<output_dtype = 0>(x, s)", NULL},
    {18, "float[4] x", "s = Constant<value_ints = [1,3]>() z, y = Split<num_outputs = 2>(x, s)",
     "both"},
    {18, "float[4] x", "z, y = Split(x)", "neither"},
    {18, "float[n] x", "z, y = Split(x)", NULL},
    {13, "float[4] x", "z, y = Split(x)", NULL},
    {2, "float[4] x", "z, y = Split<split = [1,2]>(x)", "3 elements, the axis 4"},
    {13, "float[4] x", "s = Constant<value_ints = [1,4]>() z, y = Split(x, s)", "5 elements"},
    {11, "float[4] x",
     "s = Constant<value_ints = [1,4]>() q = SplitToSequence(x, s) z = SequenceLength(q)",
     "5 elements"},
    {11, "float[4] x",
     "s = Constant<value_int = 0>() q = SplitToSequence(x, s) z = SequenceLength(q)", "split is 0"},
    {11, "float[4] x",
     "s = Constant<value_ints = [1,3]>() q = SplitToSequence(x, s) z = SequenceLength(q)", NULL},
    {18, "float[4,4] x, int64[4] p", "a = Constant<value_ints = [1,-1]>() z = Pad(x, p, , a)",
     "axis 1 is named twice"},
    {13, "float[2,3] x", "z = Resize(x)", "neither scales nor sizes"},
    {13, "float[2,3] x, float[2] s, int64[2] t", "z = Resize(x, , s, t)", "both scales and sizes"},
    {11, "float[2,3] x, float[2] s, int64[2] t", "z = Resize(x, s, s, t)", NULL},
    {13, "float[2,3] x, int64[2] t", "e = Constant<value = float[0] {}>() z = Resize(x, e, e, t)",
     NULL},
    {13, "float[2,3] x, int64[2] t",
     "e = Constant<value_floats: floats = []>() z = Resize(x, , e, t)", NULL},
    {18, "float x, int64[2] t", "z = Resize<axes = [0,1]>(x, , , t)", "2 axes"},
    /* The batch of a cache, its other axes, and its indices. */
    {24, "float[2,3,4] x, float[2,1,4] u, int64[2] i", "z = TensorScatter(x, u, i)", NULL},
    {24, "float[2,3,4] x, float[1,1,4] u, int64[2] i", "z = TensorScatter(x, u, i)", "update"},
    {24, "float[2,3,4] x, float[2,1,5] u, int64[2] i", "z = TensorScatter(x, u, i)", "update"},
    {24, "float[2,3,4] x, float[2,1,4] u, int64[3] i", "z = TensorScatter(x, u, i)", "indices"},
    {24, "float[2,3,4] x, float[2,1,4] u, int64 i", "z = TensorScatter(x, u, i)", "rank 0"},
    {24, "float[2,3,4] x, float[2,3,4] u, int64[2] i", "z = TensorScatter<axis = 0>(x, u, i)",
     "axis 0"},
    /* Lists have no gaps. */
    {13, "float[2] x", "z = Concat<axis = 0>(, x)", "input 0 is left out"},
    {13, "float[2] x", "z = Max(x, , x)", "input 1 is left out"},
    {13, "float[2] x", "z = Clip(x, )", NULL},
    /* Keys and thresholds are of the input's type. */
    {21, "float[2] x", "z = ai.onnx.ml.LabelEncoder<keys_int64s = [1], values_int64s = [2]>(x)",
     "keys_int64s"},
    {21, "float[2] x",
     "z = ai.onnx.ml.LabelEncoder<keys_tensor = double[1] {1}, values_tensor = int64[1] {2}>(x)",
     "keys_tensor"},
    {21, "string[2] x",
     "z = ai.onnx.ml.LabelEncoder<keys_strings = [\"a\"], values_int64s = [2]>(x)", NULL},
    {21, "float[1,2] x", TREE, "nodes_splits"},
    {21, "double[2] x", TREE, "rank 1"},
    {21, "double[1,2] x", TREE, NULL},
};

START_TEST(what_the_standard_does_not_take_is_a_finding)
{
    const struct refusal *r = &refusals[_i];
    infer(r->opset, r->inputs, r->body);
    const struct ox_finding *first =
        n_findings() ? ox_findings_at(ox_shapes_findings(shapes), 0) : NULL;
    if (r->message)
        ck_assert_msg(first && strstr(first->message, r->message), "%s: %s", r->body,
                      first ? first->message : "no finding");
    else
        ck_assert_msg(!first, "%s: %s", r->body, first ? first->message : "");
}
END_TEST

START_TEST(old_arithmetic_keeps_the_first_shape)
{
    infer(6, "float[n,3,4] x, float[3] y", "z = Add<broadcast = 1, axis = 1>(x, y)");
    expect("z", "float32[n,3,4]");
    infer(6, "float[n,3] x, float[3] y", "z = Greater<broadcast = 1>(x, y)");
    expect("z", "bool[n,3]");
}
END_TEST

START_TEST(types_follow_attributes)
{
    infer(13, "float[n] x", "z = Cast<to = 10>(x)");
    expect("z", "float16[n]");
    infer(5, "float[n] x", "z = Cast<to = \"INT32\">(x)");
    expect("z", "int32[n]");
    infer(21, "float[n] x, float s", "z = QuantizeLinear<output_dtype = 3>(x, s)");
    expect("z", "int8[n]");
    infer(21, "int8[n] x, float16 s", "z = DequantizeLinear(x, s)");
    expect("z", "float16[n]");
    infer(22, "float[n] x", "z = RandomNormalLike<dtype = 11>(x)");
    expect("z", "float64[n]");
    infer(22, "float[2,3] x", "z = Multinomial<sample_size = 5, dtype = 7>(x)");
    expect("z", "int64[2,5]");
    infer(17, "float[n] x",
          "k = Constant<value_int = 8>() z = HannWindow<output_datatype = 11>(k)");
    expect("z", "float64[8]");
    infer(13, "float[n] x", "y, z = Dropout(x)");
    expect("z", "bool[n]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_rules");
    TCase *tcase = tcase_create("rules");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, arithmetic_carries_expressions);
    tcase_add_test(tcase, integer_division_is_known_where_it_is_exact);
    tcase_add_test(tcase, scalars_broadcast_over_values);
    tcase_add_test(tcase, choices_are_known_where_the_condition_is);
    tcase_add_test(tcase, casts_and_roundings_carry_values);
    tcase_add_test(tcase, reductions_carry_values);
    tcase_add_test(tcase, what_wraps_is_not_carried);
    tcase_add_test(tcase, clips_carry_values);
    tcase_add_test(tcase, reductions_drop_axes);
    tcase_add_test(tcase, an_axis_out_of_range_is_a_finding);
    tcase_add_test(tcase, sizes_past_64_bits_are_a_finding);
    tcase_add_test(tcase, inputs_and_lists_that_do_not_fit_are_findings);
    tcase_add_loop_test(tcase, what_the_standard_does_not_take_is_a_finding, 0, OX_COUNT(refusals));
    tcase_add_test(tcase, an_attribute_that_names_no_element_type_is_a_finding);
    tcase_add_test(tcase, old_arithmetic_keeps_the_first_shape);
    tcase_add_test(tcase, types_follow_attributes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
