#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"
#include "tests/wire_build.h"

static void expect(const struct text_run *f, size_t i, enum ox_dtype dtype, size_t n,
                   const double *values)
{
    ck_assert_ptr_nonnull(f->out[i]);
    const struct ox_tensor *tensor = ox_datum_get_tensor(f->out[i]);
    ck_assert_ptr_nonnull(tensor);
    ck_assert_str_eq(ox_dtype_name(tensor->dtype), ox_dtype_name(dtype));
    ck_assert_uint_eq(tensor->n, n);
    for (size_t k = 0; k < n; k++)
        ck_assert_double_eq(ox_tensor_get_double(tensor, k), values[k]);
}

#define EXPECT(f, i, dtype, ...)                                                                   \
    expect(f, i, dtype, sizeof(double[]){__VA_ARGS__} / sizeof(double),                            \
           (const double[]){__VA_ARGS__})

static void expect_message(const struct text_run *f, const char *part)
{
    ck_assert_msg(strstr(f->err.message, part) != NULL, "'%s' is not in: %s", part, f->err.message);
}

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1]> "

/* ---- Values and ports ----------------------------------------------------------------------------------------------- */

START_TEST(chain_runs)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Add(x, x) y = Mul(a, x) }", NULL);
    text_give_floats(&f, 2, (const float[]){3, 5});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, 18, 50);
    text_close(&f);
}
END_TEST

START_TEST(inputs_and_initializers_can_be_outputs_and_outputs_repeat)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] x, float[2] w, float[N] y, float[N] y)"
                        "<float[2] w = {7, 8}> { y = Neg(x) }",
                   NULL);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, 3);
    EXPECT(&f, 1, OX_FLOAT32, 7, 8);
    EXPECT(&f, 2, OX_FLOAT32, -3);
    EXPECT(&f, 3, OX_FLOAT32, -3);
    text_close(&f);
}
END_TEST

START_TEST(input_with_initializer_is_a_default_and_comes_last)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[1] w = {10}, float[1] x) => (float[1] y) { y = Sub(x, w) }",
                   NULL);
    ck_assert_uint_eq(ox_session_n_inputs(f.session), 2);
    ck_assert_str_eq(ox_session_input_name(f.session, 0), "x");
    ck_assert(ox_session_input_required(f.session, 0));
    ck_assert(!ox_session_input_required(f.session, 1));
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, -7);
    text_give_floats(&f, 1, (const float[]){1});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, 2);
    text_close(&f);
}
END_TEST

START_TEST(missing_input_is_named)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    expect_message(&f, "input 'x' (float32[2]) is not given");
    text_close(&f);
}
END_TEST

START_TEST(wrong_element_type_is_refused)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    text_give(&f, OX_INT32, 1, (const int64_t[]){2}, (const int32_t[]){1, 2});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    expect_message(&f, "input 'x' is int32[2], the model wants float32[2]");
    text_close(&f);
}
END_TEST

START_TEST(wrong_dimension_is_refused)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    text_give_floats(&f, 3, (const float[]){1, 2, 3});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    expect_message(&f, "float32[3]");
    text_close(&f);
}
END_TEST

/* Exporters' names lie: what they say is no reason not to run. */
static void runs_though(const char *text, int level, int64_t n, const char *warning)
{
    const float sums[2][3] = {{-11, -12, -13}, {-11, -22, -33}};
    const struct ox_run_options options = {.level = level};
    struct text_run f;
    text_must_plan(&f, text, &options);
    text_give_floats(&f, 3, (const float[]){1, 2, 3});
    text_give_floats(&f, n, (const float[]){10, 20, 30});
    for (int again = 0; again < 2; again++) {
        text_must_run(&f);
        EXPECT(&f, 0, OX_FLOAT32, sums[n == 3][0], sums[n == 3][1], sums[n == 3][2]);
        const char *said = ox_session_warning(f.session);
        ck_assert_msg(warning ? said && strstr(said, warning) : !said, "%s", said ? said : "-");
    }
    text_close(&f);
}

START_TEST(a_name_with_two_sizes_is_a_warning)
{
    static const char name[] = HEAD "g (float[N] x, float[N] z) => (float[N] y) "
                                    "{ a = Add(x, z) y = Neg(a) }";
    static const char formula[] = HEAD "g (float[N] x, float[\"N-2\"] z) => (float[N] y) "
                                       "{ a = Add(x, z) y = Neg(a) }";
    for (int level = 0; level < 3; level++) {
        runs_though(name, level, 3, NULL);
        runs_though(name, level, 1, "'N' is 1 here and 3 in 'x'");
        runs_though(formula, level, 1, NULL);
        runs_though(formula, level, 3, "dimension 0 is 3, not 1");
    }
}
END_TEST

START_TEST(chosen_outputs_run_only_what_they_need)
{
    struct text_run f;
    const char *names[] = {"a"};
    struct ox_run_options options = {.outputs = names, .n_outputs = 1};
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) y = NoSuchOperator(a) }",
                   &options);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    ck_assert_str_eq(ox_session_output_name(f.session, 0), "a");
    EXPECT(&f, 0, OX_FLOAT32, -3);
    text_close(&f);
}
END_TEST

START_TEST(unknown_chosen_output_is_named)
{
    struct text_run f;
    const char *names[] = {"nothing"};
    struct ox_run_options options = {.outputs = names, .n_outputs = 1};
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { y = Neg(x) }");
    ck_assert_int_eq(text_plan(&f, &options), OX_INPUT);
    expect_message(&f, "'nothing'");
    text_close(&f);
}
END_TEST

START_TEST(all_values_come_after_the_outputs)
{
    struct text_run f;
    struct ox_run_options options = {.all_values = true};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) b = Abs(a) y = Add(a, b) }",
                   &options);
    ck_assert_uint_eq(ox_session_n_outputs(f.session), 3);
    ck_assert_str_eq(ox_session_output_name(f.session, 0), "y");
    ck_assert_str_eq(ox_session_output_name(f.session, 2), "b");
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, 0);
    EXPECT(&f, 1, OX_FLOAT32, -3);
    EXPECT(&f, 2, OX_FLOAT32, 3);
    text_close(&f);
}
END_TEST

/* ---- What cannot run -------------------------------------------------------------------------------------------------- */

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
    expect_message(&f, "2 operators are not supported");
    expect_message(&f, "ai.onnx.NoSuch opset 20 (no such operator; 2 nodes, first '#0')");
    expect_message(&f, "local.Other opset 1");
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
    expect_message(&f, "opset 999 is newer than");
    text_close(&f);
}
END_TEST

START_TEST(input_made_later_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { y = Neg(a) a = Abs(x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    expect_message(&f, "'a' is made by a later node");
    text_close(&f);
}
END_TEST

START_TEST(output_made_by_no_node_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { a = Abs(x) }");
    ck_assert_int_eq(text_plan(&f, NULL), OX_INPUT);
    expect_message(&f, "'y' is made by no node");
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
        expect_message(&f, bodies[i][1]);
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
    expect_message(&f, "attribute 'body' holds nothing");
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
    expect_message(&f, "Add '#0' (opset 20): input 1 ('B') is float32, but input 0 ('A') is int32");
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
    expect_message(&f, "Gather '#1' in '#0.then_branch' (opset 20)");
    text_close(&f);
}
END_TEST

/* ---- Control flow ----------------------------------------------------------------------------------------------------- */

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
    EXPECT(&f, 0, OX_FLOAT32, 0, 0);
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
    EXPECT(&f, 0, OX_FLOAT32, 8);
    EXPECT(&f, 1, OX_FLOAT32, 4, 6, 8);
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
    EXPECT(&f, 0, OX_FLOAT32, 2);
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
    expect_message(&f, "100 trips");
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

/* ---- Functions ---------------------------------------------------------------------------------------------------------- */

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
    EXPECT(&f, 0, OX_FLOAT32, 15);
    EXPECT(&f, 1, OX_FLOAT32, 6);
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
    expect_message(&f, "calls itself");
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
    expect_message(&f, "nodes after expansion");
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
    expect_message(&f, "10 deep");
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
    EXPECT(&f, 0, OX_FLOAT32, -1, -2);
    text_close(&f);
}
END_TEST

/* ---- Element types, oracle, seeds ------------------------------------------------------------------------------------ */

START_TEST(half_nodes_round_once)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (float16[N] x) => (float16[1] y) {"
                        "y = ReduceSum <keepdims: int = 1> (x) }",
                   NULL);
    /* 2048 + 1 + 1 + 1 is 2051, a tie that goes to 2052; rounded at each step it would stay 2048. */
    text_give(&f, OX_FLOAT16, 1, (const int64_t[]){4},
              (const uint16_t[]){0x6800, 0x3C00, 0x3C00, 0x3C00});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT16, 2052);
    text_close(&f);
}
END_TEST

START_TEST(oracle_computes_in_double)
{
    struct text_run f;
    struct ox_run_options options = {.oracle = true};
    text_must_plan(
        &f,
        HEAD "g (float[N] x) => (float[N] y) <float[1] w = {1}> { a = Add(x, w) y = Sub(a, w) }",
        &options);
    text_give_floats(&f, 1, (const float[]){0x1p-40f});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT64, 0x1p-40);
    text_close(&f);
}
END_TEST

START_TEST(oracle_narrows_on_demand)
{
    struct text_run f;
    struct ox_run_options options = {.oracle = true, .narrow = true};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y, int64[1] s) { y = Neg(x) s = Shape(x) }",
                   &options);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    EXPECT(&f, 0, OX_FLOAT32, -3);
    EXPECT(&f, 1, OX_INT64, 1);
    text_close(&f);
}
END_TEST

static double draw(uint64_t seed, size_t output)
{
    struct text_run f;
    struct ox_run_options options = {.seed = seed};
    text_must_plan(&f,
                   HEAD
                   "g () => (float[1] a, float[1] b) { a = RandomUniform <shape: ints = [1]> () b "
                   "= RandomUniform "
                   "<shape: ints = [1]> () }",
                   &options);
    text_must_run(&f);
    double value = ox_tensor_get_double(ox_datum_get_tensor(f.out[output]), 0);
    text_close(&f);
    return value;
}

START_TEST(seed_decides_random_values_and_nodes_differ)
{
    ck_assert_double_eq(draw(1, 0), draw(1, 0));
    ck_assert_double_ne(draw(1, 0), draw(2, 0));
    ck_assert_double_ne(draw(1, 0), draw(1, 1));
}
END_TEST

/* ---- Memory and profile ------------------------------------------------------------------------------------------------ */

START_TEST(long_chain_needs_memory_for_two_values)
{
    struct text_run f;
    enum { N = 1 << 16, STEPS = 50 };
    char text[8192];
    int at = sprintf(text, HEAD "g (float[N] x) => (float[N] y) { a0 = Neg(x) ");
    for (int i = 1; i < STEPS; i++)
        at += sprintf(text + at, "a%d = Neg(a%d) ", i, i - 1);
    sprintf(text + at, "y = Neg(a%d) }", STEPS - 1);
    text_must_plan(&f, text, NULL);
    float *values = calloc(N, sizeof *values);
    ck_assert_ptr_nonnull(values);
    text_give_floats(&f, N, values);
    text_must_run(&f);
    text_must_run(&f);
    struct ox_session_stats stats;
    ox_session_stats(f.session, &stats);
    ck_assert_uint_ge(stats.arena_bytes, 2 * N * sizeof(float));
    ck_assert_uint_le(stats.arena_bytes, 3 * N * sizeof(float) + 4096);
    ck_assert_uint_eq(stats.n_nodes, STEPS + 1);
    free(values);
    text_close(&f);
}
END_TEST

START_TEST(output_outlives_the_session)
{
    struct text_run f;
    enum { N = 1 << 16 };
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) y = Neg(a) }", NULL);
    float *values = calloc(N, sizeof *values);
    ck_assert_ptr_nonnull(values);
    values[N - 1] = 7;
    text_give_floats(&f, N, values);
    text_must_run(&f);
    ox_session_release(f.session);
    f.session = NULL;
    ck_assert_double_eq(ox_tensor_get_double(ox_datum_get_tensor(f.out[0]), N - 1), 7);
    free(values);
    text_close(&f);
}
END_TEST

START_TEST(weights_packed_for_one_run_are_packed_again_for_the_next)
{
    struct text_run f;
    struct ox_run_options options = {.level = 2, .once = true};
    text_must_plan(&f,
                   HEAD "g (float[1,1,1,N] x) => (float[1,1,1,N] y) <float[1,1,1,3] w = {1, 2, 4}, "
                        "float[1,1,1,3] v = {0, 1, 1}> { a = Conv <pads: ints = [0,1,0,1]> (x, w) "
                        "y = Conv <pads: ints = [0,1,0,1]> (a, v) }",
                   &options);
    text_give(&f, OX_FLOAT32, 4, (const int64_t[]){1, 1, 1, 3}, (const float[]){1, 10, 100});
    for (unsigned run = 0; run < 2; run++) {
        text_must_run(&f);
        EXPECT(&f, 0, OX_FLOAT32, 42 + 421, 421 + 210, 210);
    }
    text_close(&f);
}
END_TEST

START_TEST(memory_limit_ends_a_run)
{
    struct text_run f;
    text_open(&f, HEAD "g (int64[1] n) => (float[Ky] y) { y = ConstantOfShape(n) }");
    ox_env_limits(f.env)->memory_bytes = 1 << 20;
    ck_assert_int_eq(text_plan(&f, NULL), OX_OK);
    text_give(&f, OX_INT64, 1, (const int64_t[]){1}, (const int64_t[]){1 << 28});
    enum ox_status status = text_run_once(&f);
    ck_assert_int_eq(ox_status_exit_code(status), 5);
    expect_message(&f, "ConstantOfShape '#0'");
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
    const TTest *const tests[] = {chain_runs,
                                  inputs_and_initializers_can_be_outputs_and_outputs_repeat,
                                  input_with_initializer_is_a_default_and_comes_last,
                                  missing_input_is_named,
                                  wrong_element_type_is_refused,
                                  wrong_dimension_is_refused,
                                  a_name_with_two_sizes_is_a_warning,
                                  chosen_outputs_run_only_what_they_need,
                                  unknown_chosen_output_is_named,
                                  all_values_come_after_the_outputs,
                                  every_missing_operator_is_named_before_anything_runs,
                                  newer_opset_is_refused,
                                  input_made_later_is_refused,
                                  output_made_by_no_node_is_refused,
                                  arity_and_attributes_are_checked,
                                  attribute_that_holds_nothing_is_refused,
                                  element_types_are_checked_by_the_schema,
                                  failing_node_in_a_subgraph_is_located,
                                  values_are_captured_at_any_depth,
                                  loop_carries_and_stacks,
                                  loop_without_trips_gives_empty_scan_outputs,
                                  loop_without_trips_stacks_what_is_inferred,
                                  loop_trips_are_limited,
                                  endless_loop_can_be_cancelled,
                                  function_attributes_are_given_by_reference_or_default,
                                  recursive_function_is_refused,
                                  doubling_functions_meet_a_limit_at_once,
                                  deep_calls_meet_a_limit,
                                  graph_attribute_of_a_call_sees_the_callers_values,
                                  half_nodes_round_once,
                                  oracle_computes_in_double,
                                  oracle_narrows_on_demand,
                                  seed_decides_random_values_and_nodes_differ,
                                  long_chain_needs_memory_for_two_values,
                                  output_outlives_the_session,
                                  weights_packed_for_one_run_are_packed_again_for_the_next,
                                  memory_limit_ends_a_run,
                                  profile_has_an_event_a_node};
    Suite *suite = suite_create("runtime");
    TCase *tcase = tcase_create("runtime");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
