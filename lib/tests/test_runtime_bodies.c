/* Graphs within graphs at a run: branches, loops, functions of the model, and their nodes in a profile. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1]> "

START_TEST(values_are_captured_at_any_depth)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (bool c, float[N] x) => (float[Ky] y) { a = Neg(x) y = If (c) <"
                        "then_branch = t () => (float[Kr] r) { r = If (c) <then_branch = u () => "
                        "(float[Ks] s) { s = Add(a, x) },"
                        "else_branch = v () => (float[Ka] a) { }> },"
                        "else_branch = e () => (float[Kx] x) { }> }",
                   NULL);
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 2, (const float[]){1, 2});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 0, 0);
    text_close(&f);
}
END_TEST

static const char loop_text[] =
    HEAD "g (int64 n, bool c, float[1] x) => (float[1] last, float[T,1] all) {"
         "last, all = Loop (n, c, x) <body = b (int64 i, bool on, float[1] s) => (bool on2, "
         "float[1] s2, float[1] t) {"
         "on2 = Identity(on) s2 = Add(s, x) t = Identity(s2) }> }";

START_TEST(loop_carries_and_stacks)
{
    struct text_run f;
    text_must_plan(&f, loop_text, NULL);
    text_give(&f, OX_INT64, 0, NULL, (const int64_t[]){3});
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 1, (const float[]){2});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 8);
    TEXT_EXPECT(&f, 1, OX_FLOAT32, 4, 6, 8);
    ck_assert_uint_eq(ox_tensor_rank(ox_datum_get_tensor(f.out[1])), 2);
    text_close(&f);
}
END_TEST

START_TEST(loop_without_trips_gives_empty_scan_outputs)
{
    struct text_run f;
    text_must_plan(&f, loop_text, NULL);
    text_give(&f, OX_INT64, 0, NULL, (const int64_t[]){3});
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){0});
    text_give_floats(&f, 1, (const float[]){2});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 2);
    const struct ox_tensor *all = ox_datum_get_tensor(f.out[1]);
    ck_assert_uint_eq(all->rank, 2);
    ck_assert_int_eq(all->dims[0], 0);
    ck_assert_int_eq(all->dims[1], 1);
    text_close(&f);
}
END_TEST

static void stack_what_is_inferred(int level)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (int64 n, bool c, float[2] x) => (double[T,U] all) {"
                        "w = Cast <to = 11> (x) "
                        "last, all = Loop (n, c, w) <body = b (int64 i, bool on, s) => (bool on2, "
                        "s2, t) { on2 = Identity(on) s2 = Add(s, w) t = Concat <axis = 0> (s2, w)"
                        " }> }",
                   &(struct ox_run_options){.level = level});
    text_give(&f, OX_INT64, 0, NULL, (const int64_t[]){0});
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 2, (const float[]){2, 3});
    for (int run = 0; run < 2; run++) {
        text_must_run(&f);
        const struct ox_tensor *all = ox_datum_get_tensor(f.out[0]);
        ck_assert_int_eq(all->dtype, OX_FLOAT64);
        ck_assert_uint_eq(all->rank, 2);
        ck_assert_int_eq(all->dims[0], 0);
        ck_assert_int_eq(all->dims[1], 4);
    }
    text_close(&f);
}

START_TEST(loop_without_trips_stacks_what_is_inferred)
{
    stack_what_is_inferred(0);
    stack_what_is_inferred(2);
}
END_TEST

START_TEST(loop_trips_are_limited)
{
    struct text_run f;
    text_open(
        &f, HEAD
        "g (float[1] x) => (float[1] y) { y = Loop (, , x) <body = b (int64 i, bool on, float[1] s)"
        "=> (bool on, float[1] s2) { s2 = Identity(s) }> }");
    ox_env_limits(f.env)->loop_trips = 100;
    ck_assert_int_eq(text_plan(&f, NULL), OX_OK);
    text_give_floats(&f, 1, (const float[]){2});
    ck_assert_int_eq(text_run_once(&f), OX_LIMIT);
    text_expect_message(&f, "100 trips");
    text_close(&f);
}
END_TEST

START_TEST(endless_loop_can_be_cancelled)
{
    struct text_run f;
    text_must_plan(
        &f,
        HEAD
        "g (float[1] x) => (float[1] y) { y = Loop (, , x) <body = b (int64 i, bool on, float[1] s)"
        "=> (bool on, float[1] s) { }> }",
        NULL);
    text_give_floats(&f, 1, (const float[]){2});
    ox_env_cancel(f.env);
    ck_assert_int_eq(text_run_once(&f), OX_CANCELLED);
    text_close(&f);
}
END_TEST

START_TEST(function_attributes_are_given_by_reference_or_default)
{
    struct text_run f;
    text_must_plan(
        &f,
        HEAD "g (float[N] x) => (float[Ky] y, float[Kz] z) { y = local.twice <a = 5.0> (x) z = "
             "local.twice (x) }"
             "<domain: \"local\", opset_import: [\"\" : 20, \"local\" : 1]>"
             "twice <a: float = 2.0> (x) => (y) { y = local.scale <by: float = @a> (x) }"
             "<domain: \"local\", opset_import: [\"\" : 20]>"
             "scale <by> (x) => (y) { c = Constant <value_float: float = @by> () y = Mul(x, c) }",
        NULL);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 15);
    TEXT_EXPECT(&f, 1, OX_FLOAT32, 6);
    text_close(&f);
}
END_TEST

START_TEST(recursive_function_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x) => (float[Ky] y) { y = local.f (x) }"
                       "<domain: \"local\", opset_import: [\"\" : 20, \"local\" : 1]>"
                       "f (x) => (y) { y = local.h (x) }"
                       "<domain: \"local\", opset_import: [\"\" : 20, \"local\" : 1]>"
                       "h (x) => (y) { y = local.f (x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    text_expect_message(&f, "calls itself");
    text_close(&f);
}
END_TEST

/* f0 calls f1 twice, which calls f2 twice, ... */
static char *doubling_text(int depth)
{
    char *text = malloc((size_t)depth * 256 + 512);
    ck_assert_ptr_nonnull(text);
    int at = sprintf(text, HEAD "g (float[N] x) => (float[Ky] y) { y = local.f0 (x) }");
    for (int i = 0; i < depth; i++) {
        at += sprintf(
            text + at,
            "<domain: \"local\", opset_import: [\"\" : 20, \"local\" : 1]> f%d (x) => (y) ", i);
        if (i + 1 < depth)
            at += sprintf(text + at, "{ a = local.f%d (x) y = local.f%d (a) }", i + 1, i + 1);
        else
            at += sprintf(text + at, "{ y = Neg(x) }");
    }
    return text;
}

START_TEST(doubling_functions_meet_a_limit_at_once)
{
    struct text_run f;
    char *text = doubling_text(60);
    text_open(&f, text);
    ck_assert_int_eq(text_plan(&f, NULL), OX_LIMIT);
    text_expect_message(&f, "nodes after expansion");
    text_close(&f);
    free(text);
}
END_TEST

START_TEST(deep_calls_meet_a_limit)
{
    struct text_run f;
    char *text = doubling_text(20);
    text_open(&f, text);
    ox_env_limits(f.env)->call_depth = 10;
    ck_assert_int_eq(text_plan(&f, NULL), OX_LIMIT);
    text_expect_message(&f, "10 deep");
    text_close(&f);
    free(text);
}
END_TEST

START_TEST(graph_attribute_of_a_call_sees_the_callers_values)
{
    struct text_run f;
    text_must_plan(
        &f,
        HEAD
        "g (bool c, float[N] x) => (float[Ky] y) { a = Neg(x)"
        "y = local.choose <b = t () => (float[Kr] r) { r = Identity(a) }> (c) }"
        "<domain: \"local\", opset_import: [\"\" : 20]>"
        "choose <b> (c) => (y) { y = If (c) <then_branch: graph = @b, else_branch: graph = @b> }",
        NULL);
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 2, (const float[]){1, 2});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, -1, -2);
    text_close(&f);
}
END_TEST

START_TEST(profile_has_an_event_a_node)
{
    struct text_run f;
    struct ox_run_options options = {.profile = true};
    text_must_plan(&f, loop_text, &options);
    text_give(&f, OX_INT64, 0, NULL, (const int64_t[]){2});
    text_give(&f, OX_BOOL, 0, NULL, (const uint8_t[]){1});
    text_give_floats(&f, 1, (const float[]){2});
    text_must_run(&f);
    text_must_run(&f);
    size_t n;
    const struct ox_node_event *events = ox_session_events(f.session, &n);
    ck_assert_uint_eq(n, 2 * 3 + 1);
    ck_assert_str_eq(events[0].graph, "#0.body");
    ck_assert_str_eq(events[0].op_type, "Identity");
    ck_assert_uint_eq(events[0].depth, 1);
    ck_assert_str_eq(events[n - 1].op_type, "Loop");
    ck_assert_uint_ge(events[n - 1].ns, events[0].ns);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime: bodies");
    TCase *all = tcase_create("all");
    tcase_add_test(all, values_are_captured_at_any_depth);
    tcase_add_test(all, loop_carries_and_stacks);
    tcase_add_test(all, loop_without_trips_gives_empty_scan_outputs);
    tcase_add_test(all, loop_without_trips_stacks_what_is_inferred);
    tcase_add_test(all, loop_trips_are_limited);
    tcase_add_test(all, endless_loop_can_be_cancelled);
    tcase_add_test(all, function_attributes_are_given_by_reference_or_default);
    tcase_add_test(all, recursive_function_is_refused);
    tcase_add_test(all, doubling_functions_meet_a_limit_at_once);
    tcase_add_test(all, deep_calls_meet_a_limit);
    tcase_add_test(all, graph_attribute_of_a_call_sees_the_callers_values);
    tcase_add_test(all, profile_has_an_event_a_node);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
