/* Some of the functions put in place, and operators that the standard defines by others. */
#include <check.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;
static struct ox_model *model;
static size_t n_calls;

static void setup(void)
{
    static const char MODEL[] =
        "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]> g (float[2] x) => (float[2] y) { a "
        "= "
        "f.outer(x) b = f.inner(a) y = HardSwish(b) } <domain: \"f\", opset_import: [\"\" : 17]> "
        "inner (p) => (q) { q = Neg(p) } <domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]> "
        "outer "
        "(p) => (q) { r = f.inner(p) q = HardSwish(r) }";
    env = ox_env_new();
    ck_assert_msg(ox_model_open_memory(&model, env, MODEL, strlen(MODEL), NULL, &err) == OX_OK,
                  "%s", err.message);
}

static void teardown(void)
{
    ox_model_release(model);
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
}

static size_t count(const char *op)
{
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++)
            n += strcmp(model->graphs[g]->nodes[i]->op_type, op) == 0;
    return n;
}

static enum ox_status inline_these(const char *name, bool except)
{
    return ox_inline_named(model, &name, 1, except, &n_calls, &err);
}

START_TEST(a_function_goes_into_others_too)
{
    ck_assert_int_eq(inline_these("f:inner", false), OX_OK);
    ck_assert_uint_eq(n_calls, 2);
    ck_assert_uint_eq(model->n_functions, 1);
    ck_assert_uint_eq(count("Neg"), 2);
    ck_assert_uint_eq(count("outer"), 1);
    ck_assert_ptr_nonnull(ox_model_function(model, "f", "outer", ""));
    ck_assert_ptr_null(ox_model_function(model, "f", "inner", ""));
}
END_TEST

START_TEST(all_but_one)
{
    ck_assert_int_eq(inline_these("inner", true), OX_OK);
    ck_assert_uint_eq(n_calls, 1);
    ck_assert_uint_eq(model->n_functions, 1);
    ck_assert_uint_eq(count("inner"), 2);
    ck_assert_uint_eq(count("HardSwish"), 2);
}
END_TEST

START_TEST(an_operator_of_the_standard_gives_way_wherever_it_stands)
{
    ck_assert_int_eq(inline_these("ai.onnx:HardSwish", false), OX_OK);
    ck_assert_uint_eq(n_calls, 2);
    ck_assert_uint_eq(model->n_functions, 2);
    ck_assert_uint_eq(count("HardSwish"), 0);
    ck_assert_uint_eq(count("Mul"), 2);
}
END_TEST

START_TEST(what_is_not_there_or_has_no_body_is_refused)
{
    ck_assert_int_eq(inline_these("g:inner", false), OX_USAGE);
    ck_assert_int_eq(inline_these("HardSwish", true), OX_USAGE);
    ck_assert_int_eq(inline_these("Neg", false), OX_UNSUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inline");
    TCase *tests = tcase_create("inline");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_function_goes_into_others_too);
    tcase_add_test(tests, all_but_one);
    tcase_add_test(tests, an_operator_of_the_standard_gives_way_wherever_it_stands);
    tcase_add_test(tests, what_is_not_there_or_has_no_body_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
