/* Runs the cases of ONNX's backend suite and compares as onnx's own runner does: same element type and shape, numbers within the
 * case's tolerances, NaN equal to NaN. */
#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "schema/schema.h"
#include "tests/read_suite.h"
#include "tests/run_suite.h"

enum { MOST_VALUES = 64 };

static struct suite suite;
static const char *current; /* name of the case that runs */

static void load_suite(void)
{
    const char *testdata = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/suite/*.gz", testdata);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            suite_add(&suite, found.gl_pathv[i]);
    globfree(&found);
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

static bool close_to(double got, double want, double rtol, double atol)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want))
        return got == want;
    return fabs(got - want) <= atol + rtol * fabs(want);
}

static bool complex_close(const struct ox_tensor *got, const struct ox_tensor *want, size_t i,
                          double rtol, double atol)
{
    double g[2], w[2];
    for (size_t part = 0; part < 2; part++) {
        bool wide = want->dtype == OX_COMPLEX128;
        g[part] = wide ? ((const double *)got->data)[2 * i + part]
                       : ((const float *)got->data)[2 * i + part];
        w[part] = wide ? ((const double *)want->data)[2 * i + part]
                       : ((const float *)want->data)[2 * i + part];
    }
    return hypot(g[0] - w[0], g[1] - w[1]) <= atol + rtol * hypot(w[0], w[1]);
}

static void compare_tensors(const struct ox_tensor *got, const struct ox_tensor *want, double rtol,
                            double atol, size_t output)
{
    ck_assert_msg(got->dtype == want->dtype, "%s: output %zu is %s, not %s", current, output,
                  ox_dtype_name(got->dtype), ox_dtype_name(want->dtype));
    ck_assert_msg(got->rank == want->rank, "%s: output %zu has rank %u, not %u", current, output,
                  got->rank, want->rank);
    for (unsigned d = 0; d < want->rank; d++)
        ck_assert_msg(got->dims[d] == want->dims[d],
                      "%s: output %zu: dimension %u is %lld, not %lld", current, output, d,
                      (long long)got->dims[d], (long long)want->dims[d]);
    if (want->dtype == OX_BFLOAT16)
        rtol = fmax(rtol, 0x1p-6);
    for (size_t i = 0; i < want->n; i++) {
        if (want->dtype == OX_STRING) {
            struct ox_str g = ((const struct ox_str *)got->data)[i],
                          w = ((const struct ox_str *)want->data)[i];
            ck_assert_msg(g.n == w.n && (!w.n || memcmp(g.p, w.p, w.n) == 0),
                          "%s: output %zu, element %zu is '%.*s', not '%.*s'", current, output, i,
                          (int)g.n, g.p, (int)w.n, w.p);
        } else if (want->dtype == OX_COMPLEX64 || want->dtype == OX_COMPLEX128) {
            ck_assert_msg(complex_close(got, want, i, rtol, atol),
                          "%s: output %zu, element %zu differs", current, output, i);
        } else {
            double g = ox_tensor_get_double(got, i), w = ox_tensor_get_double(want, i);
            ck_assert_msg(close_to(g, w, rtol, atol),
                          "%s: output %zu, element %zu of %zu is %.9g, not %.9g", current, output,
                          i, want->n, g, w);
        }
    }
}

static void compare(const struct ox_datum *got, const struct ox_datum *want, double rtol,
                    double atol, size_t output)
{
    ck_assert_msg(got->kind == want->kind, "%s: output %zu is of kind %d, not %d", current, output,
                  (int)got->kind, (int)want->kind);
    ck_assert_msg(got->n_items == want->n_items, "%s: output %zu has %zu elements, not %zu",
                  current, output, got->n_items, want->n_items);
    if (want->kind == OX_DATUM_TENSOR || want->kind == OX_DATUM_MAP)
        compare_tensors(got->tensor, want->tensor, rtol, atol, output);
    for (size_t i = 0; i < want->n_items; i++)
        compare(got->items[i], want->items[i], rtol, atol, output);
}

/* ---- Cases whose expected file is one draw among many -------------------------------------------------------------- */

static void same_form(const struct ox_datum *got, const struct ox_datum *want)
{
    ck_assert_int_eq(got->kind, OX_DATUM_TENSOR);
    ck_assert_int_eq(got->tensor->dtype, want->tensor->dtype);
    ck_assert_uint_eq(got->tensor->n, want->tensor->n);
    ck_assert_uint_eq(got->tensor->rank, want->tensor->rank);
}

static void judge_bernoulli(struct ox_datum *const *in, const struct ox_datum *got,
                            const struct ox_datum *want)
{
    same_form(got, want);
    for (size_t i = 0; i < got->tensor->n; i++) {
        double chance = ox_tensor_get_double(in[0]->tensor, i),
               drawn = ox_tensor_get_double(got->tensor, i);
        ck_assert_msg(drawn == 0 || drawn == 1, "%s: element %zu is %g", current, i, drawn);
        ck_assert_msg(!(chance <= 0 && drawn != 0) && !(chance >= 1 && drawn != 1),
                      "%s: element %zu is %g at a chance of %g", current, i, drawn, chance);
    }
}

static void judge_dropout(struct ox_datum *const *in, size_t n_in, struct ox_datum *const *got,
                          struct ox_datum *const *want, size_t n_out)
{
    for (size_t i = 0; i < n_out; i++)
        same_form(got[i], want[i]);
    const struct ox_tensor *x = in[0]->tensor, *y = got[0]->tensor;
    double ratio = n_in > 1 ? ox_tensor_get_double(in[1]->tensor, 0) : 0.5, kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        double out = ox_tensor_get_double(y, i);
        bool keep = n_out > 1 ? ox_tensor_get_double(got[1]->tensor, i) != 0 : out != 0;
        double expected = keep ? ox_tensor_get_double(x, i) / (1 - ratio) : 0;
        ck_assert_msg(close_to(out, expected, 1e-5, 1e-8), "%s: element %zu is %g, not %g", current,
                      i, out, expected);
        kept += keep;
    }
    double n = (double)x->n, spread = 6 * sqrt(n * ratio * (1 - ratio));
    ck_assert_msg(fabs(kept - n * (1 - ratio)) <= spread, "%s: %g of %g kept at ratio %g", current,
                  kept, n, ratio);
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static void run_set(const struct suite_case *c, struct ox_session *session, const uint8_t **at)
{
    struct ox_datum *in[MOST_VALUES] = {0}, *want[MOST_VALUES] = {0}, *got[MOST_VALUES] = {0};
    struct ox_error err = {0};
    size_t n_in = suite_values(c, at, in, MOST_VALUES),
           n_out = suite_values(c, at, want, MOST_VALUES);
    ck_assert_uint_le(ox_session_n_inputs(session), MOST_VALUES);
    ck_assert_uint_le(ox_session_n_outputs(session), MOST_VALUES);
    ck_assert_uint_le(n_out, ox_session_n_outputs(session));
    ck_assert_msg(ox_session_run(session, in, got, &err) == OX_OK, "%s: %s", current, err.message);
    if (c->special == SUITE_BERNOULLI)
        judge_bernoulli(in, got[0], want[0]);
    else if (c->special == SUITE_DROPOUT)
        judge_dropout(in, n_in, got, want, n_out);
    for (size_t i = 0; c->special == SUITE_PLAIN && i < n_out; i++)
        compare(got[i], want[i], c->rtol, c->atol, i);
    for (size_t i = 0; i < MOST_VALUES; i++) {
        ox_datum_release(in[i]);
        ox_datum_release(want[i]);
        ox_datum_release(got[i]);
    }
}

static void run_case(const struct suite_case *c, const struct ox_run_options *options)
{
    current = c->name;
    struct ox_error err = {0};
    struct ox_env *env = ox_env_new();
    struct ox_model *model = NULL;
    struct ox_session *session = NULL;
    ck_assert_ptr_nonnull(env);
    mark_point();
    ck_assert_msg(ox_model_open_memory(&model, env, c->model, c->model_bytes, NULL, &err) == OX_OK,
                  "%s: %s", c->name, err.message);
    ck_assert_msg(ox_session_new(&session, model, options, &err) == OX_OK, "%s: %s", c->name,
                  err.message);
    const uint8_t *at = c->sets;
    for (size_t s = 0; s < c->n_sets; s++)
        run_set(c, session, &at);
    ox_session_release(session);
    ox_model_release(model);
    ck_assert_uint_eq(ox_env_budget(env)->used, 0);
    ox_env_release(env);
}

START_TEST(suite_case_agrees)
{
    run_case(&suite.cases[_i], NULL);
}
END_TEST

START_TEST(suite_case_agrees_in_double)
{
    /* Rounds a value that is half way in float32, and in double is not. */
    if (strcmp(suite.cases[_i].name, "node/test_dynamicquantizelinear_expanded") != 0)
        run_case(&suite.cases[_i], &(struct ox_run_options){.oracle = true, .narrow = true});
}
END_TEST

/* ---- Versions ---------------------------------------------------------------------------------------------------- */

static void mark_versions(const struct ox_model *model, const struct ox_schema *rows, bool *has)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_schema *row =
                ox_schema_find(node->domain, node->op_type, ox_graph_opset(graph, node->domain));
            if (row)
                has[row - rows] = true;
        }
    }
}

static bool must_have_case(const struct ox_schema *row)
{
    return !row->deprecated && strncmp(row->domain, "com.", 4) != 0 &&
           ox_schema_find_foreign(row->domain, row->name, row->since) != row;
}

START_TEST(every_version_of_every_operator_has_a_case)
{
    size_t n, n_without = 0;
    const struct ox_schema *rows = ox_schema_rows(&n);
    bool *has = calloc(n, sizeof *has);
    struct ox_strbuf without = {0};
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(has);
    for (size_t i = 0; i < suite.n; i++) {
        struct ox_model *model;
        struct ox_error err;
        ck_assert_int_eq(ox_model_open_memory(&model, env, suite.cases[i].model,
                                              suite.cases[i].model_bytes, NULL, &err),
                         OX_OK);
        mark_versions(model, rows, has);
        ox_model_release(model);
    }
    for (size_t i = 0; i < n; i++)
        if (must_have_case(&rows[i]) && !has[i] && ++n_without)
            ox_strbuf_printf(&without, " %s %d", rows[i].name, rows[i].since);
    ck_assert_msg(n_without == 0, "%zu versions without a case:%s", n_without, without.data);
    ox_strbuf_release(&without);
    ox_env_release(env);
    free(has);
}
END_TEST

START_TEST(suite_is_whole)
{
    ck_assert_msg(suite.n >= 2020, "only %zu cases are there: run scripts/pack_suite.py", suite.n);
}
END_TEST

int main(void)
{
    load_suite();
    Suite *s = suite_create("suite");
    TCase *whole = tcase_create("whole");
    tcase_add_test(whole, suite_is_whole);
    tcase_add_test(whole, every_version_of_every_operator_has_a_case);
    suite_add_tcase(s, whole);
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    if (suite.n) {
        tcase_add_loop_test(cases, suite_case_agrees, 0, (int)suite.n);
        tcase_add_loop_test(cases, suite_case_agrees_in_double, 0, (int)suite.n);
    }
    suite_add_tcase(s, cases);
    int status = run_suite(s);

    suite_release(&suite);
    return status;
}
