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
    snprintf(text, sizeof text, "<ir_version: 10, opset_import: [\"\" : %d]> g (%s) => (z) { %s }",
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
    tcase_add_test(tcase, an_attribute_that_names_no_element_type_is_a_finding);
    tcase_add_test(tcase, old_arithmetic_keeps_the_first_shape);
    tcase_add_test(tcase, types_follow_attributes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
