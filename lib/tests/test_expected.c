/* Outputs that depart from those expected, computed by a model that is meant to be the same but for one thing: that is named. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

/* A and the model that expected outputs come from: what is between the braces, and what is before. */
struct pair {
    const char *id; /* of the first cause; NULL: nothing departs */
    int opset;
    const char *ports; /* "(float[4] x) => (float[4] y)" */
    const char *a, *reference;
    const char *reference_ports; /* NULL: the same */
    const char *says;            /* a part of the first cause's text; NULL */
};

#define PICTURE "(float[1,3,4,4] x) => (float[1,3,4,4] y) <float[1,3,1,1] w = {1, 2, 3}>"
#define ROWS "(float[3,5] x) => (float[3,5] y) <float k = {1.5}>"
#define SAME "t = Mul(x, w) y = Sin(t)"

static const struct pair input_pairs[] = {
    {"input-channels", 17, PICTURE, SAME,
     "i = Constant<value_ints = [2, 1, 0]>() z = Gather<axis = 1>(x, i) t = Mul(z, w) y = Sin(t)",
     NULL, "RGB and BGR"},
    {"input-channels", 17,
     "(float[1,4,4,4] x) => (float[1,4,4,4] y) <float[4,1,1] w = {1, 2, 3, 4}>", SAME,
     "i = Constant<value_ints = [2, 1, 0, 3]>() z = Gather<axis = 1>(x, i) t = Mul(z, w) y = "
     "Sin(t)",
     NULL, "the first three channels turned"},
    {"input-channels", 17, "(float[1,5,5,3] x) => (float[1,5,5,3] y) <float[3] w = {1, 2, 3}>",
     SAME,
     "i = Constant<value_ints = [2, 1, 0]>() z = Gather<axis = 3>(x, i) t = Mul(z, w) y = Sin(t)",
     NULL, "channels last"},
    {"input-values", 17, PICTURE, SAME,
     "c = Constant<value_float = 255.0>() z = Div(x, c) t = Mul(z, w) y = Sin(t)", NULL, "x / 255"},
    {"input-values", 17, ROWS, "t = Mul(x, k) y = Atan(t)",
     "c = Constant<value_float = 255.0>() z = Mul(x, c) t = Mul(z, k) y = Atan(t)", NULL,
     "x * 255"},
    {"input-values", 17, ROWS, "t = Mul(x, k) y = Atan(t)",
     "c = Constant<value_float = 127.5>() d = Constant<value_float = 1.0>() s = Div(x, c) z = "
     "Sub(s, d) t = Mul(z, k) y = Atan(t)",
     NULL, "x / 255 * 2 - 1"},
    {"input-values", 17, ROWS, "t = Mul(x, k) y = Asinh(t)",
     "c = Constant<value_float = 127.5>() d = Constant<value_float = 1.0>() s = Add(x, d) z = "
     "Mul(s, c) t = Mul(z, k) y = Asinh(t)",
     NULL, "(x + 1) / 2 * 255"},
    {"input-values", 17,
     "(float[1,3,4,4] x) => (float[1,3,4,4] y) <float[1,3,1,1] w = {1, 2, 3}, float[1,3,1,1] m = "
     "{0.485, 0.456, 0.406}, float[1,3,1,1] d = {0.229, 0.224, 0.225}>",
     SAME, "s = Sub(x, m) z = Div(s, d) t = Mul(z, w) y = Sin(t)", NULL,
     "with (x - mean) / std of ImageNet"},
    {"input-values", 17,
     "(float[1,3,4,4] x) => (float[1,3,4,4] y) <float[1,3,1,1] w = {1, 2, 3}, float[1,3,1,1] m = "
     "{0.485, 0.456, 0.406}, float[1,3,1,1] d = {0.229, 0.224, 0.225}>",
     SAME,
     "c = Constant<value_float = 255.0>() q = Div(x, c) s = Sub(q, m) i = Constant<value_ints = "
     "[2, 1, 0]>() r = Gather<axis = 1>(q, i) s2 = Sub(r, m) z = Div(s2, d) t = Mul(z, w) y = "
     "Sin(t)",
     NULL, "(x / 255 - mean) / std of ImageNet, channels turned"},
    {"input-layout", 17, PICTURE, SAME,
     "s = Constant<value_ints = [1, 4, 4, 3]>() q = Reshape(x, s) z = Transpose<perm = [0, 3, 1, "
     "2]>(q) t = Mul(z, w) y = Sin(t)",
     NULL, "taken as NHWC"},
    {"input-layout", 17, PICTURE, SAME,
     "q = Transpose<perm = [0, 2, 3, 1]>(x) s = Shape(x) z = Reshape(q, s) t = Mul(z, w) y = "
     "Sin(t)",
     NULL, "reshaped, not transposed"},
    {"input-layout", 17, "(float[1,4,5,3] x) => (float[1,4,5,3] y) <float[3] w = {1, 2, 3}>", SAME,
     "s = Constant<value_ints = [1, 3, 4, 5]>() q = Reshape(x, s) z = Transpose<perm = [0, 2, 3, "
     "1]>(q) t = Mul(z, w) y = Sin(t)",
     NULL, "taken as NCHW"},
    {"input-transposed", 17, "(float[1,1,3,3] x) => (float[1,1,3,3] y) <float[3] w = {1, 2, 3}>",
     SAME, "z = Transpose<perm = [0, 1, 3, 2]>(x) t = Mul(z, w) y = Sin(t)", NULL, "axes 2 and 3"},
    {"inputs-exchanged", 17, "(float[4] p, float[4] q) => (float[4] y)",
     "s = Sin(p) t = Tanh(q) y = Add(s, t)", "s = Sin(q) t = Tanh(p) y = Add(s, t)", NULL,
     "'p' and 'q'"},
    {"input-mask", 17, "(float[8] x, bool[8] m) => (float[8] y) <float k = {-3}>",
     "s = Sin(x) y = Where(m, s, k)", "n = Not(m) s = Sin(x) y = Where(n, s, k)", NULL,
     "input x = 'm'"},
};

#define MADE "h = Sin(x) t = Mul(h, k)"

static const struct pair output_pairs[] = {
    {NULL, 17, ROWS, MADE " y = Add(t, x)", MADE " y = Add(x, t)", NULL, NULL},
    {"output-softmax", 17, ROWS, MADE " y = Identity(t)", MADE " y = Softmax(t)", NULL,
     "A leaves it out"},
    {"output-softmax", 17, ROWS, MADE " y = Softmax(t)", MADE " y = Identity(t)", NULL,
     "one more at its end"},
    {"output-softmax", 17, ROWS, MADE " u = Softmax(t) y = Softmax(u)", MADE " y = Softmax(t)",
     NULL, "A does it twice"},
    {"output-softmax", 17, "(float[1,3,2,2] x) => (float[1,3,2,2] y) <float k = {2}>",
     MADE " y = Identity(t)", MADE " y = Softmax<axis = 1>(t)", NULL, "axis 1"},
    {"output-log-softmax", 17, ROWS, MADE " y = Identity(t)", MADE " y = LogSoftmax(t)", NULL,
     NULL},
    {"output-exp", 17, ROWS, MADE " y = LogSoftmax(t)", MADE " y = Softmax(t)", NULL, NULL},
    {"output-log", 17, ROWS, MADE " y = Softmax(t)", MADE " y = LogSoftmax(t)", NULL, NULL},
    {"output-sigmoid", 17, ROWS, MADE " y = Identity(t)", MADE " y = Sigmoid(t)", NULL, NULL},
    {"output-sigmoid", 17, ROWS, MADE " y = Sigmoid(t)", MADE " y = Identity(t)", NULL, NULL},
    {"output-normalized", 17, ROWS, MADE " y = Identity(t)",
     MADE " y = LpNormalization<axis = 1, p = 2>(t)", NULL, NULL},
    {"output-argmax", 17, "(float[16,5] x) => (float[16,5] y) <float k = {1.5}>",
     MADE " y = Identity(t)", MADE " y = ArgMax<axis = 1, keepdims = 0>(t)",
     "(float[16,5] x) => (int64[16] y) <float k = {1.5}>",
     "argmax along axis 1 of 'y' (16 elements)"},
    {"output-transposed", 17, "(float[1,2,3,4] x) => (float[1,2,3,4] y) <float k = {2}>",
     MADE " y = Identity(t)", MADE " y = Transpose<perm = [0, 2, 3, 1]>(t)",
     "(float[1,2,3,4] x) => (float[1,3,4,2] y) <float k = {2}>", "channels last"},
    {"output-transposed", 17, "(float[1,2,3,4] x) => (float[1,2,3,4] y) <float k = {2}>",
     MADE " y = Identity(t)",
     MADE " c = Constant<value_ints = [1, 12, 2]>() u = Transpose<perm = [0, 2, 3, 1]>(t) y = "
          "Reshape(u, c)",
     "(float[1,2,3,4] x) => (float[1,12,2] y) <float k = {2}>", "in the shape [1,12,2]"},
    {"output-shape", 17, ROWS, MADE " y = Identity(t)",
     MADE " c = Constant<value_ints = [1, 3, 5]>() y = Reshape(t, c)",
     "(float[3,5] x) => (float[1,3,5] y) <float k = {1.5}>", "dimensions of 1"},
    {"output-shape", 17, ROWS, MADE " y = Identity(t)",
     MADE " c = Constant<value_ints = [15]>() y = Reshape(t, c)",
     "(float[3,5] x) => (float[15] y) <float k = {1.5}>", "the same elements as [15]"},
    {"output-scaled", 17, ROWS, MADE " y = Identity(t)",
     MADE " c = Constant<value_float = 255.0>() y = Div(t, c)", NULL, "(1/255)"},
    {"output-shifted", 17, ROWS, MADE " y = Identity(t)",
     MADE " c = Constant<value_float = 2.5>() y = Add(t, c)", NULL, "plus 2.5"},
    {"output-scaled", 17, ROWS, MADE " y = Identity(t)",
     MADE " c = Constant<value_float = 2.5>() u = Mul(t, c) y = Sub(u, c)", NULL,
     "times 2.5 plus -2.5"},
    {"outputs-exchanged", 17, "(float[3] x) => (float[3] y, float[3] z)", "y = Sin(x) z = Cos(x)",
     "y = Cos(x) z = Sin(x)", NULL, "'y' of A is what is expected as 'z'"},
    {"outputs-renamed", 17, "(float[3] x) => (float[3] y, float[3] z)", "y = Sin(x) z = Cos(x)",
     "p = Sin(x) z = Tan(x)", "(float[3] x) => (float[3] p, float[3] z)", "--pair 'y=p'"},
};

#define MAP "(float[1,2,5,5] x) => (float[?,?,?,?] y)"
#define MAPS "(float[2,2,5,5] x) => (float[?,?,?,?] y) <float[2] s = {1, 2}, float[2] b = {0, 1}>"
#define DOUBLED "r = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() "

static const struct pair node_pairs[] = {
    {"gelu-approximation", 20, ROWS, "h = Gelu(x) y = Sin(h)",
     "h = Gelu<approximate = \"tanh\">(x) y = Sin(h)", NULL, "approximate=tanh (it is none)"},
    {"gelu-approximation", 17, ROWS,
     "r = Constant<value_float = 1.4142135>() u = Div(x, r) e = Erf(u) c = Constant<value_float = "
     "1.0>() s = Add(e, c) h = Mul(x, s) y = Sin(h)",
     "r = Constant<value_float = 0.044715>() x2 = Mul(x, x) x3 = Mul(x2, x) q = Mul(r, x3) p = "
     "Add(x, q) f = Constant<value_float = 0.7978845608>() v = Mul(p, f) e = Tanh(v) c = "
     "Constant<value_float = 1.0>() s = Add(e, c) h = Mul(x, s) y = Sin(h)",
     NULL, "the tanh form of Gelu"},
    {"batch-statistics", 17, MAPS, "h = BatchNormalization(x, s, b, b, s) y = Sin(h)",
     "h, m, v = BatchNormalization<training_mode = 1>(x, s, b, b, s) y = Sin(h)", NULL,
     "training_mode=1 (it is 0)"},
    {"batch-statistics", 9, MAPS, "h = BatchNormalization(x, s, b, b, s) y = Sin(h)",
     "h, m, v, sm, sv = BatchNormalization(x, s, b, b, s) y = Sin(h)", NULL, NULL},
    {"epsilon", 17,
     "(float[1,2,5,5] x) => (float[?,?,?,?] y) <float[2] s = {30, 20}, float[2] b = {0, 1}>",
     "h = InstanceNormalization(x, s, b) y = Sin(h)",
     "h = InstanceNormalization<epsilon = 0.001>(x, s, b) y = Sin(h)", NULL,
     "epsilon=0.001 (it is 1e-05)"},
    {"attribute", 17, MAP, DOUBLED "h = Resize<mode = \"linear\">(x, , r) y = Sin(h)",
     DOUBLED "h = Resize<mode = \"linear\", coordinate_transformation_mode = "
             "\"align_corners\">(x, , r) y = Sin(h)",
     NULL, "coordinate_transformation_mode=align_corners (it is half_pixel)"},
    {"attribute", 9, "(float[1,2,5,5] x) => (float[?,?,?,?] y) <float[4] r = {1, 1, 2, 2}>",
     "h = Upsample<mode = \"linear\">(x, r) y = Sin(h)",
     "h = Upsample<mode = \"nearest\">(x, r) y = Sin(h)", NULL, "mode=nearest"},
    {"attribute", 17, MAP,
     "h = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) y = Sin(h)",
     "h = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x) y = "
     "Sin(h)",
     NULL, "count_include_pad=1"},
    {"padding", 17, "(float[1,2,6,6] x) => (float[?,?,?,?] y)",
     "h = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x) y = Sin(h)",
     "h = MaxPool<kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x) y = "
     "Sin(h)",
     NULL, "auto_pad=SAME_UPPER"},
    {"padding", 17, "(float[1,2,6,6] x) => (float[?,?,?,?] y)",
     "h = MaxPool<kernel_shape = [2, 2], pads = [0, 1, 1, 0]>(x) y = Sin(h)",
     "h = MaxPool<kernel_shape = [2, 2], pads = [1, 0, 0, 1]>(x) y = Sin(h)", NULL,
     "pads at begin and end exchanged"},
    {"softmax-axis", 17, "(float[2,3,4] x) => (float[2,3,4] y)",
     "h = Softmax<axis = 1>(x) t = Sin(h) y = Mul(t, x)",
     "f = Flatten<axis = 1>(x) g = Softmax(f) c = Shape(x) h = Reshape(g, c) t = Sin(h) y = "
     "Mul(t, x)",
     NULL, "other side of opset 13"},
    {"softmax-axis", 11, "(float[2,3,4] x) => (float[2,3,4] y)",
     "h = Softmax<axis = 1>(x) t = Sin(h) y = Mul(t, x)",
     "f = Transpose<perm = [0, 2, 1]>(x) g = Softmax<axis = 2>(f) h = Transpose<perm = [0, 2, "
     "1]>(g) t = Sin(h) y = Mul(t, x)",
     NULL, "other side of opset 13"},
    {"softmax-axis", 11, "(float[2,3,4] x) => (float[2,3,4] y)",
     "h = LogSoftmax<axis = 1>(x) t = Sin(h) y = Mul(t, x)",
     "f = Transpose<perm = [0, 2, 1]>(x) g = LogSoftmax<axis = 2>(f) h = Transpose<perm = [0, 2, "
     "1]>(g) t = Sin(h) y = Mul(t, x)",
     NULL, "other side of opset 13"},
    {"softmax-axis", 17, "(float[2,3,4] x) => (float[2,3,4] y)",
     "h = Softmax<axis = 1>(x) t = Sin(h) y = Mul(t, x)",
     "h = Softmax<axis = 2>(x) t = Sin(h) y = Mul(t, x)", NULL, "axis=-1 (it is 1)"},
    {"attribute", 17, ROWS,
     "[one] h = LeakyRelu(x) g = Sub(h, k) [two] t = LeakyRelu(g) y = Sin(t)",
     "[one] h = LeakyRelu(x) g = Sub(h, k) [two] t = LeakyRelu<alpha = 0.2>(g) y = Sin(t)", NULL,
     "in LeakyRelu 'two'"},
    {"attribute", 17, ROWS,
     "[one] h = LeakyRelu(x) g = Sub(h, k) [two] t = LeakyRelu(g) y = Sin(t)",
     "h = LeakyRelu<alpha = 0.2>(x) g = Sub(h, k) t = LeakyRelu<alpha = 0.2>(g) y = Sin(t)", NULL,
     "in 2 of LeakyRelu, 'one' the first"},
    {"attribute", 17, "(float[1,8,2,2] x) => (float[?,?,?,?] y)",
     "h = DepthToSpace<blocksize = 2>(x) y = Sin(h)",
     "h = DepthToSpace<blocksize = 2, mode = \"CRD\">(x) y = Sin(h)", NULL, "mode=CRD"},
    {"attribute", 17, MAP,
     "c = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>() h = Pad(x, c) "
     "y = Sin(h)",
     "c = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>() h = Pad<mode = \"reflect\">(x, c) y = "
     "Sin(h)",
     NULL, "mode=reflect"},
    {"attribute", 17,
     "(float[3,1,2] x) => (float[?,?,?,?] y) <float[1,6,2] w = {1, 2, 3, -1, 2, 1, 0, 1, 2, -1, 1, "
     "3}, float[1,6,2] r = {1, -1, 2, 1, 1, -2, 1, 1, 2, 1, -1, 1}, float[1,12] b = {1, 2, 3, 1, "
     "2, 1, -1, 1, 2, 1, 1, 2}>",
     "y = GRU<hidden_size = 2>(x, w, r, b)",
     "y = GRU<hidden_size = 2, linear_before_reset = 1>(x, w, r, b)", NULL,
     "linear_before_reset=1"},
    {"nearer", 17, ROWS, "y = Asinh(x)",
     "c = Constant<value_float = 255.0>() z = Mul(x, c) h = Asinh(z) s = Sin(x) d = "
     "Constant<value_float = 50.0>() u = Div(s, d) y = Add(h, u)",
     NULL, "x * 255"},
    {"unexplained", 17, ROWS, "y = Sin(x)", "t = Tanh(x) y = Cosh(t)", NULL, "none of them"},
    {"unexplained", 17, PICTURE, SAME, "t = Tanh(x) h = Cosh(t) y = Mul(h, w)", NULL, NULL},
};

static void open_side(struct text_run *f, const struct pair *pair, bool reference)
{
    char text[4096];
    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : %d]> g %s { %s }",
             pair->opset, reference && pair->reference_ports ? pair->reference_ports : pair->ports,
             reference ? pair->reference : pair->a);
    text_must_plan(f, text, NULL);
}

static void hold(const struct pair *pair)
{
    struct text_run a, b;
    struct ox_expected expected[TEXT_MOST];
    struct ox_parity_causes *causes = NULL;
    const struct ox_parity_options options = {.seed = 0};
    size_t n_runs = 0;
    open_side(&a, pair, false);
    open_side(&b, pair, true);
    const size_t n = ox_session_n_outputs(b.session);
    for (size_t i = 0; i < ox_session_n_inputs(a.session); i++) {
        ck_assert_int_eq(ox_session_random_input(a.session, i, 7 + i, NULL, &a.in[i], &a.err),
                         OX_OK);
        b.in[i] = ox_datum_ref(a.in[i]);
    }
    text_must_run(&b);
    for (size_t i = 0; i < n; i++)
        expected[i] = (struct ox_expected){.name = ox_session_output_name(b.session, i),
                                           .value = b.out[i],
                                           .metrics = {.tolerance = {1e-3, 1e-5, false}}};
    ck_assert_msg(ox_parity_explain_expected(&causes, a.model, a.in, expected, n, &options, &n_runs,
                                             &a.err) == OX_OK,
                  "%s", a.err.message);
    ck_assert_uint_le(n_runs, 200);
    ck_assert_uint_eq(ox_parity_causes_count(causes) == 0, pair->id == NULL);
    if (pair->id) {
        const struct ox_parity_cause *first = ox_parity_causes_at(causes, 0);
        ck_assert_msg(strcmp(first->id, pair->id) == 0, "%s / %s: %s, not %s: %s", pair->a,
                      pair->reference, first->id, pair->id, first->text);
        ck_assert_msg(!pair->says || strstr(first->text, pair->says), "'%s' is not in '%s'",
                      pair->says, first->text);
    }
    ox_parity_causes_release(causes);
    for (size_t i = 0; i < TEXT_MOST; i++) {
        ox_datum_release(b.in[i]);
        b.in[i] = NULL;
    }
    text_close(&b);
    text_close(&a);
}

START_TEST(readings_of_inputs_are_named)
{
    hold(&input_pairs[_i]);
}
END_TEST

START_TEST(forms_of_outputs_are_named)
{
    hold(&output_pairs[_i]);
}
END_TEST

START_TEST(conventions_of_nodes_are_named)
{
    hold(&node_pairs[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expected");
    TCase *tcase = tcase_create("expected");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, readings_of_inputs_are_named, 0, (int)OX_COUNT(input_pairs));
    tcase_add_loop_test(tcase, forms_of_outputs_are_named, 0, (int)OX_COUNT(output_pairs));
    tcase_add_loop_test(tcase, conventions_of_nodes_are_named, 0, (int)OX_COUNT(node_pairs));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
