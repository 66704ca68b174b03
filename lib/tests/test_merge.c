/* Two models made one. */
#include <check.h>
#include <string.h>

#include "common/env.h"
#include "model/format.h"
#include "model/model.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;
static struct ox_merge_report report;
static struct ox_model *a, *b, *whole;

static void setup(void)
{
    env = ox_env_new();
}

static void teardown(void)
{
    ox_model_release(whole);
    ox_model_release(a);
    ox_model_release(b);
    whole = a = b = NULL;
    ox_merge_report_release(&report);
    report = (struct ox_merge_report){.n_connected = 0};
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
}

static void open_texts(const char *x, const char *y)
{
    ck_assert_msg(ox_model_open_memory(&a, env, x, strlen(x), NULL, &err) == OX_OK, "%s",
                  err.message);
    ck_assert_msg(ox_model_open_memory(&b, env, y, strlen(y), NULL, &err) == OX_OK, "%s",
                  err.message);
}

static void merge(const struct ox_merge_options *options)
{
    ck_assert_msg(ox_merge(&whole, a, b, options, &report, &err) == OX_OK, "%s\n%s", err.message,
                  report.problems.data);
}

static const struct ox_stored *initializer(const char *name)
{
    const struct ox_value *value = ox_graph_value(whole->graph, name);
    ck_assert_ptr_nonnull(value);
    ck_assert_ptr_nonnull(value->init);
    return value->init;
}

static const char NEGATE[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> n (float[2] x) => (float[2] y) { y = Neg(x) }";

START_TEST(typed_numbers_stay_under_another_name)
{
    static const char MODEL[] =
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) "
        "<float[2] w = {3, 4}, int64[1] e = {300}> { z = Add(x, w) y = Expand(z, e) }";
    open_texts(MODEL, MODEL);
    merge(&(struct ox_merge_options){.pairs = &(struct ox_name_pair){"y", "x"}, .n_pairs = 1});
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_stored_load(whole, initializer("b/w"), &tensor, &err), OX_OK);
    ck_assert_double_eq(ox_tensor_element(tensor, 1), 4);
    ox_tensor_release(tensor);
    ck_assert_int_eq(ox_stored_load(whole, initializer("b/e"), &tensor, &err), OX_OK);
    ck_assert_double_eq(ox_tensor_element(tensor, 0), 300);
    ox_tensor_release(tensor);
    ck_assert_uint_eq(report.n_renamed_values, 4); /* a's y, b's z, w and e */
}
END_TEST

START_TEST(what_is_written_reads_back)
{
    struct ox_strbuf out = {0};
    struct ox_model *again = NULL;
    open_texts("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] h) "
               "<float[2] w = {3, 4}> { h = Add(x, w) }",
               "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] h) => (float[2] y) "
               "<float[2] w = {5, 6}> { y = Add(h, w) }");
    merge(NULL);
    ck_assert_int_eq(ox_model_to_buffer(whole, &out, &err), OX_OK);
    ck_assert_int_eq(ox_model_open_memory(&again, env, out.data, out.len, NULL, &err), OX_OK);
    const struct ox_value *value = ox_graph_value(again->graph, "b/w");
    ck_assert_ptr_nonnull(value);
    ck_assert_uint_eq(again->graph->n_inits, 2);
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_stored_load(again, value->init, &tensor, &err), OX_OK);
    ck_assert_double_eq(ox_tensor_element(tensor, 0), 5);
    ox_tensor_release(tensor);
    ox_model_release(again);
    ox_strbuf_release(&out);
}
END_TEST

START_TEST(names_of_dimensions_are_told_apart_in_formulas)
{
    open_texts("<ir_version: 8, opset_import: [\"\" : 17]> g (float[n,m] x) => (float[n,m] h) "
               "{ h = Neg(x) }",
               "<ir_version: 8, opset_import: [\"\" : 17]> g (float[k,m] h, float[m] z) => "
               "(float[k,m] y) <float[\"k*2\", \"n+k\"] q> { y = Neg(h) q = Neg(z) }");
    merge(NULL);
    struct ox_strbuf text = {0};
    ox_type_print(&text, ox_graph_value(whole->graph, "q")->type, true);
    ck_assert_str_eq(ox_strbuf_text(&text, NULL), "float32[2*n,n+n_2]");
    ox_strbuf_release(&text);
}
END_TEST

/* Every allocation fails once. */
START_TEST(memory_that_runs_out_is_told)
{
    open_texts(NEGATE, NEGATE);
    const struct ox_merge_options with = {.pairs = &(struct ox_name_pair){"y", "x"}, .n_pairs = 1};
    const uint64_t before = atomic_load(&env->budget.used);
    for (uint64_t more = 0;; more += 1 << 12) {
        env->budget.limit = before + more;
        enum ox_status status = ox_merge(&whole, a, b, &with, &report, &err);
        ox_merge_report_release(&report);
        report = (struct ox_merge_report){.n_connected = 0};
        if (status == OX_OK)
            break;
        ck_assert(status == OX_NO_MEMORY || status == OX_LIMIT);
        ck_assert_uint_eq(atomic_load(&env->budget.used), before);
    }
    env->budget.limit = 0;
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        typed_numbers_stay_under_another_name,
        what_is_written_reads_back,
        names_of_dimensions_are_told_apart_in_formulas,
        memory_that_runs_out_is_told,
    };
    Suite *suite = suite_create("merge");
    TCase *tcase = tcase_create("merge");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < OX_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
