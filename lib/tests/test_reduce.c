/* The smallest part of a model that still fails. */
#include <check.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "tests/run_suite.h"

/* Fails where a part has all these operators, in whatever graph. */
struct wanted {
    const char *const *ops; /* ends in NULL */
    size_t stop_after;      /* 0: never */
    size_t n_asked;
};

static struct ox_env *env;
static struct ox_error err;
static struct ox_model *model;
static struct ox_reduction *reduction;
static struct ox_reduced told;

static void setup(void)
{
    env = ox_env_new();
}

static void teardown(void)
{
    ox_reduction_release(reduction);
    ox_model_release(model);
    reduction = NULL;
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
}

static size_t count(const struct ox_model *in, const char *op)
{
    size_t n = 0;
    for (size_t g = 0; g < in->n_graphs; g++)
        for (size_t i = 0; i < in->graphs[g]->n_nodes; i++)
            n += !op || strcmp(in->graphs[g]->nodes[i]->op_type, op) == 0;
    return n;
}

static enum ox_status check(void *arg, struct ox_model *part, enum ox_reduce_verdict *verdict,
                            struct ox_error *why)
{
    struct wanted *wanted = arg;
    (void)why;
    *verdict = OX_FAILS;
    for (const char *const *op = wanted->ops; *op; op++)
        if (!count(part, *op))
            *verdict = OX_PASSES;
    if (wanted->stop_after && wanted->n_asked++ == wanted->stop_after)
        *verdict = OX_STOP;
    return OX_OK;
}

/* As if the run had made 1, 2 of everything, and of sizes 2, 2. */
static enum ox_status record(void *arg, struct ox_model *of, const char *const *names, size_t n,
                             struct ox_datum **values, struct ox_error *why)
{
    static const float NUMBERS[] = {1, 2};
    static const int64_t SIZES[] = {2, 2};
    const int64_t dims[] = {2};
    (void)arg;
    (void)of;
    for (size_t i = 0; i < n; i++) {
        struct ox_tensor *tensor;
        const bool size = strchr("st", names[i][0]) != NULL;
        ck_assert_int_eq(ox_tensor_from_data(&tensor, env, size ? OX_INT64 : OX_FLOAT32, 1, dims,
                                             size ? (const void *)SIZES : NUMBERS, why),
                         OX_OK);
        ck_assert_int_eq(ox_datum_of_tensor(&values[i], tensor, why), OX_OK);
        ox_tensor_release(tensor);
    }
    return OX_OK;
}

static void open_text(const char *text)
{
    ck_assert_msg(ox_model_open_memory(&model, env, text, strlen(text), NULL, &err) == OX_OK, "%s",
                  err.message);
}

static const struct ox_graph *reduce(const char *text, struct ox_reduce_options options)
{
    open_text(text);
    options.check = check;
    ck_assert_msg(ox_reduce(&reduction, model, &options, &told, &err) == OX_OK, "%s", err.message);
    return ox_reduction_model(reduction)->graph;
}

#define OPS(...)                                                                                   \
    (struct ox_reduce_options)                                                                     \
    {                                                                                              \
        .arg = &(struct wanted)                                                                    \
        {                                                                                          \
            .ops = (const char *const[])                                                           \
            {                                                                                      \
                __VA_ARGS__, NULL                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

static const char CHAIN[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y, float[2] z) "
    "<float[2] w = {3, 4}> { a = Neg(x) b = Exp(a) c = Mul(b, w) d = Sin(c) e = Cos(d) y = Abs(e) "
    "z = Tanh(x) }";

START_TEST(one_operator_is_left_with_what_it_takes)
{
    const struct ox_graph *graph = reduce(CHAIN, OPS("Mul"));
    ck_assert_uint_eq(graph->n_nodes, 1);
    ck_assert_uint_eq(graph->n_inits, 1);
    ck_assert_str_eq(graph->inputs[0]->name, "b");
    ck_assert_str_eq(graph->outputs[0]->name, "c");
    ck_assert_uint_eq(graph->n_inputs, 1);
    ck_assert_uint_eq(graph->n_outputs, 1);
    ck_assert(told.whole);
    ck_assert_uint_eq(told.n_nodes_before, 7);
    ck_assert_uint_eq(told.n_nodes, 1);
    ck_assert_uint_le(told.n_checks, 8);
    ck_assert_uint_eq(model->graph->n_nodes, 7);
    ck_assert_uint_eq(model->graph->n_inputs, 1);
}
END_TEST

START_TEST(what_lies_between_two_is_passed_by)
{
    const struct ox_graph *graph = reduce(CHAIN, OPS("Neg", "Abs"));
    ck_assert_uint_eq(graph->n_nodes, 2);
    ck_assert_ptr_eq(graph->nodes[1]->inputs[0], graph->nodes[0]->outputs[0]);
}
END_TEST

START_TEST(outputs_that_are_needed_together_stay)
{
    const struct ox_graph *graph = reduce(CHAIN, OPS("Tanh", "Abs"));
    ck_assert_uint_eq(graph->n_nodes, 2);
    ck_assert_uint_eq(graph->n_outputs, 2);
}
END_TEST

START_TEST(constants_of_a_run_leave_no_new_inputs)
{
    struct ox_reduce_options options = OPS("Mul");
    options.record = record;
    options.constants_alone = true;
    const struct ox_graph *graph = reduce(CHAIN, options);
    struct ox_tensor *tensor;
    ck_assert_uint_eq(graph->n_nodes, 1);
    ck_assert_uint_eq(graph->n_inputs, 0);
    ck_assert_uint_eq(graph->n_inits, 2);
    const struct ox_stored *stored = ox_graph_value(graph, "b")->init;
    ck_assert_int_eq(ox_stored_load(graph->model, stored, &tensor, &err), OX_OK);
    ck_assert_double_eq(ox_tensor_element(tensor, 1), 2);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(sizes_become_constants_and_not_inputs)
{
    static const char SHAPED[] =
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n,2] x, float[4] v) => (float[a,b] y) "
        "{ s = Shape(x) t = Identity(s) r = Reshape(v, t) y = Relu(r) }";
    struct ox_reduce_options options = OPS("Reshape");
    options.record = record;
    const struct ox_graph *graph = reduce(SHAPED, options);
    ck_assert_uint_eq(graph->n_nodes, 1);
    ck_assert_uint_eq(graph->n_inputs, 1);
    ck_assert_ptr_nonnull(graph->nodes[0]->inputs[1]->init);
}
END_TEST

static const char NESTED[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]> g (float[2] x, int64 n) => (float[2] y) "
    "<bool c = {1}> { a = Neg(x) b = f.twice(a) l = Loop(n, c, b) <body = body (int64 i, bool ci, "
    "float[2] s) => (bool co, float[2] t) { co = Identity(ci) u = Abs(s) v = Exp(u) t = Add(v, x) "
    "}> y = Relu(l) } <domain: \"f\", opset_import: [\"\" : 17]> twice (p) => (q) { r = Sin(p) q = "
    "Cos(r) }";

START_TEST(functions_and_bodies_are_opened)
{
    const struct ox_graph *graph = reduce(NESTED, OPS("Sin", "Exp"));
    ck_assert_uint_eq(graph->n_nodes, 2);
    ck_assert_uint_eq(graph->model->n_graphs, 1);
    ck_assert_uint_eq(graph->model->n_functions, 0);
}
END_TEST

START_TEST(a_body_that_must_stay_is_thinned_out)
{
    const struct ox_graph *graph = reduce(NESTED, OPS("Loop", "Exp"));
    ck_assert_uint_eq(graph->n_nodes, 1);
    ck_assert_uint_eq(count(graph->model, NULL), 3); /* the condition takes one */
    ck_assert_uint_eq(graph->n_inputs, 2);           /* and nothing takes x any more */
}
END_TEST

START_TEST(a_function_that_must_stay_is_thinned_out)
{
    const struct ox_graph *graph = reduce(NESTED, OPS("twice", "Cos"));
    ck_assert_uint_eq(graph->n_nodes, 1);
    ck_assert_uint_eq(count(graph->model, NULL), 2);
}
END_TEST

START_TEST(what_does_not_fail_is_refused)
{
    open_text(CHAIN);
    struct ox_reduce_options options = OPS("Softmax");
    options.check = check;
    ck_assert_int_eq(ox_reduce(&reduction, model, &options, &told, &err), OX_NEGATIVE);
    ck_assert_uint_eq(told.n_checks, 1);
}
END_TEST

START_TEST(a_stop_leaves_the_smallest_so_far)
{
    struct wanted wanted = {.ops = (const char *const[]){"Mul", NULL}, .stop_after = 3};
    const struct ox_graph *graph = reduce(CHAIN, (struct ox_reduce_options){.arg = &wanted});
    ck_assert(!told.whole);
    ck_assert_uint_gt(graph->n_nodes, 1);
    ck_assert_uint_lt(graph->n_nodes, 7);
    ck_assert_uint_eq(told.n_checks, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tests = tcase_create("reduce");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, one_operator_is_left_with_what_it_takes);
    tcase_add_test(tests, what_lies_between_two_is_passed_by);
    tcase_add_test(tests, outputs_that_are_needed_together_stay);
    tcase_add_test(tests, constants_of_a_run_leave_no_new_inputs);
    tcase_add_test(tests, sizes_become_constants_and_not_inputs);
    tcase_add_test(tests, functions_and_bodies_are_opened);
    tcase_add_test(tests, a_body_that_must_stay_is_thinned_out);
    tcase_add_test(tests, a_function_that_must_stay_is_thinned_out);
    tcase_add_test(tests, what_does_not_fail_is_refused);
    tcase_add_test(tests, a_stop_leaves_the_smallest_so_far);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
