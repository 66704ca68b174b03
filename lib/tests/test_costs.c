/* Multiply-adds, parameters and memory of nodes and models. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph/cost/cost.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_model *model;
static struct ox_shapes *shapes;
static struct ox_costs *costs;
static char *source;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ox_costs_release(costs);
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_env_release(env);
    free(source);
    costs = NULL;
    shapes = NULL;
    model = NULL;
    source = NULL;
}

/* A whole model, or a graph under the newest opsets. */
static const struct ox_cost_total *total_of(const char *text)
{
    struct ox_error err;
    size_t bytes = strlen(text) + 200;
    source = malloc(bytes);
    ck_assert_ptr_nonnull(source);
    snprintf(source, bytes, "%s%s",
             *text == '<' ? ""
                          : "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1, "
                            "\"ai.onnx.ml\" : 3]>\n",
             text);
    enum ox_status status = ox_model_open_memory(&model, env, source, strlen(source), NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    ck_assert_int_eq(ox_shapes_infer(&shapes, model, NULL, NULL, &err), OX_OK);
    ck_assert_int_eq(ox_costs_new(&costs, model, shapes, &err), OX_OK);
    return ox_costs_total(costs);
}

static void expect_macs(const char *text, uint64_t macs)
{
    const struct ox_cost_total *total = total_of(text);
    ck_assert(total->macs_known);
    ck_assert_uint_eq(total->macs, macs);
}

/* ---- A node -------------------------------------------------------------------------------------------------------- */

START_TEST(convolution_takes_a_filter_an_output)
{
    expect_macs("g (float[2,6,8,8] x, float[4,3,3,3] w) => (y) { y = Conv <group = 2> (x, w) }",
                2 * 4 * 6 * 6 * 3 * 9);
}
END_TEST

START_TEST(transposed_convolution_takes_a_filter_an_input)
{
    expect_macs("g (float[1,3,4,4] x, float[3,5,2,2] w) => (y) { y = ConvTranspose (x, w) }",
                3 * 16 * 5 * 4);
}
END_TEST

START_TEST(integer_convolution_counts_as_the_float_one)
{
    expect_macs("g (uint8[1,3,8,8] x, float s, uint8 z, int8[4,3,3,3] w, int8 wz) => (y) "
                "{ y = QLinearConv (x, s, z, w, s, wz, s, z) }",
                4 * 36 * 27);
}
END_TEST

START_TEST(product_is_batched_and_broadcast)
{
    expect_macs("g (float[5,1,2,3] a, float[4,3,7] b) => (y) { y = MatMul (a, b) }",
                5 * 4 * 2 * 7 * 3);
}
END_TEST

START_TEST(product_of_vectors)
{
    expect_macs("g (float[9] a, float[9] b) => (y) { y = MatMul (a, b) }", 9);
}
END_TEST

START_TEST(gemm_of_a_transposed_left_side)
{
    expect_macs("g (float[3,2] a, float[3,7] b) => (y) { y = Gemm <transA = 1> (a, b) }",
                2 * 3 * 7);
}
END_TEST

START_TEST(product_with_packed_weights)
{
    expect_macs(
        "g (float[2,5,64] a, uint8[32,2,16] b, float[64] s) => (y) "
        "{ y = com.microsoft.MatMulNBits <K = 64, N = 32, bits = 4, block_size = 32> (a, b, "
        "s) }",
        2 * 5 * 64 * 32);
}
END_TEST

START_TEST(einsum_multiplies_from_left_to_right)
{
    expect_macs("g (float[2,3] a, float[3,4] b, float[4,5] c) => (y) "
                "{ y = Einsum <equation = \"ij,jk,kl->il\"> (a, b, c) }",
                2 * 3 * 4 + 2 * 4 * 5);
}
END_TEST

START_TEST(einsum_with_an_ellipsis_and_no_arrow)
{
    expect_macs("g (float[7,2,3] a, float[7,3,4] b) => (y) "
                "{ y = Einsum <equation = \"...ij,...jk\"> (a, b) }",
                7 * 2 * 3 * 4);
}
END_TEST

START_TEST(einsum_of_one_operand_multiplies_nothing)
{
    expect_macs("g (float[3,3] a) => (y) { y = Einsum <equation = \"ii->i\"> (a) }", 0);
}
END_TEST

START_TEST(attention_of_grouped_heads)
{
    /* 8 heads of queries of size 4, 2 of keys; 5 by 6 positions. */
    expect_macs("g (float[1,8,5,4] q, float[1,2,6,4] k, float[1,2,6,3] v) => (y) "
                "{ y = Attention (q, k, v) }",
                8 * 5 * 6 * 4 + 8 * 5 * 6 * 3);
}
END_TEST

START_TEST(attention_reaches_into_the_cache)
{
    expect_macs("g (float[1,2,1,4] q, float[1,2,1,4] k, float[1,2,1,4] v, float[1,2,9,4] pk, "
                "float[1,2,9,4] pv) => (y, nk, nv) { y, nk, nv = Attention (q, k, v, , pk, pv) }",
                2 * 2 * 10 * 4);
}
END_TEST

START_TEST(attention_that_projects)
{
    expect_macs("g (float[1,5,8] x, float[8,24] w, float[24] b) => (y) "
                "{ y = com.microsoft.Attention <num_heads = 2> (x, w, b) }",
                5 * 8 * 24 + 2 * 5 * 5 * 8);
}
END_TEST

START_TEST(recurrence_counts_steps_directions_and_gates)
{
    expect_macs("g (float[10,2,3] x, float[2,16,3] w, float[2,16,4] r) => (y) "
                "{ y = LSTM <hidden_size = 4, direction = \"bidirectional\"> (x, w, r) }",
                10 * 2 * 2 * 16 * (3 + 4));
}
END_TEST

START_TEST(what_only_maps_elements_multiplies_nothing)
{
    expect_macs("g (float[10,2,3] x) => (y) { a = Mul (x, x) y = Softmax (a) }", 0);
}
END_TEST

START_TEST(open_dimensions_leave_costs_open)
{
    const struct ox_cost_total *total =
        total_of("g (float[N,3] a, float[3,7] b) => (y) { y = MatMul (a, b) }");
    ck_assert(!total->macs_known);
    ck_assert(!total->activation_known);
    ck_assert_uint_eq(total->activation_bytes, 3 * 7 * 4);
}
END_TEST

START_TEST(unknown_operators_leave_costs_open)
{
    const struct ox_cost_total *total =
        total_of("g (float[2,3] a, float[3,7] b) => (y) { c = MatMul (a, b) y = my.Op (c) }");
    ck_assert(!total->macs_known);
    ck_assert_uint_eq(total->macs, 2 * 3 * 7);
}
END_TEST

START_TEST(sums_that_do_not_fit_are_not_known)
{
    const struct ox_cost_total *total =
        total_of("g (float[4000000000,1] a, float[1,4000000000] b) => (y, z) "
                 "{ y = MatMul (a, b) z = MatMul (a, b) }");
    ck_assert(!total->macs_known);
    ck_assert_uint_eq(total->macs, UINT64_MAX);
}
END_TEST

START_TEST(empty_tensors_cost_nothing)
{
    expect_macs("g (float[0,3] a, float[3,7] b) => (y) { y = MatMul (a, b) }", 0);
}
END_TEST

/* ---- Graphs within graphs ------------------------------------------------------------------------------------------ */

#define BRANCHES                                                                                   \
    "g (bool c, float[2,3] a, float[3,7] b) => (y) { y = If (c) <"                                 \
    "then_branch = t () => (u) { u = MatMul (a, b) }, "                                            \
    "else_branch = e () => (v) { s = MatMul (a, b) v = MatMul (a, b) }> }"

START_TEST(of_branches_the_larger_counts)
{
    expect_macs(BRANCHES, 2 * 2 * 3 * 7);
}
END_TEST

START_TEST(loop_counts_as_often_as_it_runs)
{
    expect_macs("g (float[2,2] a) => (y) { n = Constant <value = int64 {5}> () y = Loop (n, , a) <"
                "body = b (int64 i, bool c, float[2,2] v) => (c2, v2) "
                "{ c2 = Identity (c) v2 = MatMul (v, v) }> }",
                5 * 8);
}
END_TEST

START_TEST(loop_of_unknown_length_counts_once_and_says_so)
{
    const struct ox_cost_total *total =
        total_of("g (int64 n, float[2,2] a) => (y) { y = Loop (n, , a) <"
                 "body = b (int64 i, bool c, float[2,2] v) => (c2, v2) "
                 "{ c2 = Identity (c) v2 = MatMul (v, v) }> }");
    ck_assert_uint_eq(total->macs, 8);
    ck_assert_uint_eq(total->n_guessed, 1);
}
END_TEST

START_TEST(scan_counts_the_axis_that_it_walks)
{
    expect_macs("g (float[2,2] s, float[6,2,2] x) => (e, y) { e, y = Scan <num_scan_inputs = 1, "
                "body = b (float[2,2] a, float[2,2] v) => (a2, o) "
                "{ a2 = MatMul (a, v) o = Identity (a2) }> (s, x) }",
                6 * 8);
}
END_TEST

START_TEST(function_counts_at_each_call)
{
    expect_macs(
        "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\n"
        "g (float[2,2] a) => (y) { b = f.square (a) y = f.square (b) }\n"
        "<domain: \"f\", opset_import: [\"\" : 21]> square (p) => (q) { q = MatMul (p, p) }",
        2 * 8);
}
END_TEST

START_TEST(function_that_calls_itself_ends)
{
    const struct ox_cost_total *total =
        total_of("<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\n"
                 "g (float[2,2] a) => (y) { y = f.again (a) }\n"
                 "<domain: \"f\", opset_import: [\"\" : 21, \"f\" : 1]> "
                 "again (p) => (q) { q = f.again (p) }");
    ck_assert(!total->macs_known);
}
END_TEST

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

START_TEST(values_die_at_their_last_use)
{
    /* x 40, a 40; x dies; b 40; a dies: never more than two at a time. */
    const struct ox_cost_total *total =
        total_of("g (float[10] x) => (y) { a = Relu (x) b = Relu (a) y = Relu (b) }");
    ck_assert_uint_eq(total->activation_bytes, 80);
    ck_assert(total->activation_known);
    ck_assert_str_eq(total->activation_at, "#0");
}
END_TEST

START_TEST(a_skip_connection_lives_on)
{
    const struct ox_cost_total *total =
        total_of("g (float[10] x) => (y) { a = Relu (x) [here] b = Relu (a) y = Add (x, b) }");
    ck_assert_uint_eq(total->activation_bytes, 120);
    ck_assert_str_eq(total->activation_at, "here");
}
END_TEST

START_TEST(what_follows_from_constants_is_free)
{
    const struct ox_cost_total *total =
        total_of("g (float[1] x) => (y) { k = Constant <value = float[4] {1,2,3,4}> () "
                 "l = Neg (k) y = Add (x, l) }");
    ck_assert_uint_eq(total->activation_bytes, 4 + 16);
}
END_TEST

START_TEST(captured_values_live_through_the_node)
{
    /* `a` is used in the branch alone: it is there beside the branch's value and the output. */
    const struct ox_cost_total *total =
        total_of("g (bool c, float[10] x) => (y) { a = Relu (x) z = Relu (x) y = If (c) <"
                 "then_branch = t () => (u) { u = Add (a, z) }, "
                 "else_branch = e () => (v) { v = Identity (z) }> }");
    ck_assert_uint_eq(total->activation_bytes, 1 + 40 + 40 + 40 + 40);
}
END_TEST

START_TEST(parameters_leave_shapes_out_and_count_once)
{
    const struct ox_cost_total *total = total_of(
        "g (float[2,3] x) => (y, z) <float[3,3] w = {1,2,3,4,5,6,7,8,9}, int64[2] s = {3,2}> "
        "{ a = MatMul (x, w) y = MatMul (a, w) z = Reshape (y, s) }");
    ck_assert_uint_eq(total->parameters, 9);
    ck_assert_uint_eq(total->weight_bytes, 36 + 16);
}
END_TEST

START_TEST(entries_show_types_parameters_and_attributes)
{
    struct ox_node_entry entry;
    total_of("g (float[N,3] x) => (y) <float[3,7] w = {}> "
             "{ [dense] y = Gemm <alpha = 0.5, note: string = \"a\"> (x, w) }");
    ck_assert_uint_eq(ox_costs_count(costs), 1);
    ck_assert(ox_costs_node(costs, 0, 10, &entry));
    ck_assert_str_eq(entry.label, "dense");
    ck_assert_str_eq(entry.inputs[0].param, "A");
    ck_assert_str_eq(entry.inputs[0].type, "float32[N,3]");
    ck_assert(entry.inputs[1].is_constant);
    ck_assert_str_eq(entry.outputs[0].type, "float32[N,7]");
    ck_assert_uint_eq(entry.n_attrs, 2);
    ck_assert_str_eq(entry.attrs[0].text, "0.5");
    ck_assert_str_eq(entry.attrs[1].text, "\"a\"");
    ck_assert_uint_eq(entry.cost.parameters, 21);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("costs");
    TCase *cases = tcase_create("costs");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, convolution_takes_a_filter_an_output);
    tcase_add_test(cases, transposed_convolution_takes_a_filter_an_input);
    tcase_add_test(cases, integer_convolution_counts_as_the_float_one);
    tcase_add_test(cases, product_is_batched_and_broadcast);
    tcase_add_test(cases, product_of_vectors);
    tcase_add_test(cases, gemm_of_a_transposed_left_side);
    tcase_add_test(cases, product_with_packed_weights);
    tcase_add_test(cases, einsum_multiplies_from_left_to_right);
    tcase_add_test(cases, einsum_with_an_ellipsis_and_no_arrow);
    tcase_add_test(cases, einsum_of_one_operand_multiplies_nothing);
    tcase_add_test(cases, attention_of_grouped_heads);
    tcase_add_test(cases, attention_reaches_into_the_cache);
    tcase_add_test(cases, attention_that_projects);
    tcase_add_test(cases, recurrence_counts_steps_directions_and_gates);
    tcase_add_test(cases, what_only_maps_elements_multiplies_nothing);
    tcase_add_test(cases, open_dimensions_leave_costs_open);
    tcase_add_test(cases, unknown_operators_leave_costs_open);
    tcase_add_test(cases, sums_that_do_not_fit_are_not_known);
    tcase_add_test(cases, empty_tensors_cost_nothing);
    tcase_add_test(cases, of_branches_the_larger_counts);
    tcase_add_test(cases, loop_counts_as_often_as_it_runs);
    tcase_add_test(cases, loop_of_unknown_length_counts_once_and_says_so);
    tcase_add_test(cases, scan_counts_the_axis_that_it_walks);
    tcase_add_test(cases, function_counts_at_each_call);
    tcase_add_test(cases, function_that_calls_itself_ends);
    tcase_add_test(cases, values_die_at_their_last_use);
    tcase_add_test(cases, a_skip_connection_lives_on);
    tcase_add_test(cases, what_follows_from_constants_is_free);
    tcase_add_test(cases, captured_values_live_through_the_node);
    tcase_add_test(cases, parameters_leave_shapes_out_and_count_once);
    tcase_add_test(cases, entries_show_types_parameters_and_attributes);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
