/* Models that cannot run, and what is said of them. */
#include <check.h>
#include <stdio.h>

#include "common/env.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"
#include "tests/wire_build.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1]> "

static void count_missing(void *arg, const struct ox_missing_op *op)
{
    size_t *n = arg;
    *n += op->n_nodes;
}

START_TEST(every_missing_operator_is_named_before_anything_runs)
{
    struct text_run f;
    size_t n = 0;
    struct ox_run_options options = {.on_missing = count_missing, .missing_arg = &n};
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) {"
                       "a = NoSuch(x) b = NoSuch(a) c = local.Other(b) y = Neg(c) }");
    ck_assert_int_eq(text_plan(&f, &options), OX_UNSUPPORTED);
    text_expect_message(&f, "2 operators are not supported");
    text_expect_message(&f, "ai.onnx.NoSuch opset 20 (no such operator; 2 nodes, first '#0')");
    text_expect_message(&f, "local.Other opset 1");
    ck_assert_uint_eq(n, 3);
    text_close(&f);
}
END_TEST

START_TEST(newer_opset_is_refused)
{
    struct text_run f;
    text_open(&f, "<ir_version: 10, opset_import: [\"\" : 999]> g (float[N] x) => (float[N] y) { y "
                  "= Neg(x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_UNSUPPORTED);
    text_expect_message(&f, "opset 999 is newer than");
    text_close(&f);
}
END_TEST

START_TEST(input_made_later_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { y = Neg(a) a = Abs(x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    text_expect_message(&f, "'a' is made by a later node");
    text_close(&f);
}
END_TEST

START_TEST(output_made_by_no_node_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { a = Abs(x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    text_expect_message(&f, "'y' is made by no node");
    text_close(&f);
}
END_TEST

START_TEST(arity_and_attributes_are_checked)
{
    static const char *const bodies[][2] = {
        {"y = Add(x)", "1 inputs, where 2 to 2"},
        {"y = Neg <axis: int = 1> (x)", "no attribute 'axis'"},
        {"y = Concat(x, x)", "attribute 'axis' is required"},
        {"y = Concat <axis: float = 1.0> (x, x)", "attribute 'axis' is of type FLOAT, not INT"},
        {"y = Add(, x)", "input 0 ('A') is required"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct text_run f;
        char text[256];
        snprintf(text, sizeof text, HEAD "g (float[N] x) => (float[N] y) { %s }", bodies[i][0]);
        text_open(&f, text);
        ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
        text_expect_message(&f, bodies[i][1]);
        text_close(&f);
    }
}
END_TEST

START_TEST(attribute_that_holds_nothing_is_refused)
{
    struct wire w = {0};
    wire_begin_model(&w);
    wire_begin_node(&w, "Loop", "_ _ x", "y");
    wire_begin(&w, 5); /* attribute: a name and the type GRAPH, but no graph */
    wire_text(&w, 1, "body");
    wire_int(&w, 20, 5);
    wire_end(&w);
    wire_end(&w);
    wire_value(&w, 11, "x", 1, (const int64_t[]){2});
    wire_value(&w, 12, "y", 1, (const int64_t[]){2});
    wire_end(&w);
    wire_begin(&w, 8); /* opset_import */
    wire_int(&w, 2, 20);
    wire_end(&w);
    struct text_run f = {.env = ox_env_new()};
    ck_assert_ptr_nonnull(f.env);
    ck_assert_msg(ox_model_open_memory(&f.model, f.env, w.data, w.n, NULL, &f.err) == OX_OK, "%s",
                  f.err.message);
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    text_expect_message(&f, "attribute 'body' holds nothing");
    text_close(&f);
    wire_release(&w);
}
END_TEST

START_TEST(element_types_are_checked_by_the_schema)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (int32[N] x, float[N] z) => (float[Ky] y) { y = Add(x, z) }", NULL);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, (const int32_t[]){1});
    text_give_floats(&f, 1, (const float[]){1});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    text_expect_message(
        &f, "Add '#0' (opset 20): input 1 ('B') is float32, but input 0 ('A') is int32");
    text_close(&f);
}
END_TEST

START_TEST(failing_node_in_a_subgraph_is_located)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD
                   "g (bool c, float[N] x) => (float[Ky] y) { y = If (c) <then_branch = t () => "
                   "(float[Kr] r) {"
                   "i = Constant <value: tensor = int64[1] {9}> () r = Gather(x, i) },"
                   "else_branch = e () => (float[Kr] r) { r = Neg(x) }> }",
                   NULL);
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 2, (const float[]){1, 2});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    text_expect_message(&f, "Gather '#1' in '#0.then_branch' (opset 20)");
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime: refused");
    TCase *all = tcase_create("all");
    tcase_add_test(all, every_missing_operator_is_named_before_anything_runs);
    tcase_add_test(all, newer_opset_is_refused);
    tcase_add_test(all, input_made_later_is_refused);
    tcase_add_test(all, output_made_by_no_node_is_refused);
    tcase_add_test(all, arity_and_attributes_are_checked);
    tcase_add_test(all, attribute_that_holds_nothing_is_refused);
    tcase_add_test(all, element_types_are_checked_by_the_schema);
    tcase_add_test(all, failing_node_in_a_subgraph_is_located);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
