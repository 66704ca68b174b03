#include "tests/judge_suite.h"

#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 64 };

void suite_load(struct suite *suite)
{
    const char *testdata = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/suite/*.gz", testdata);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            suite_add(suite, found.gl_pathv[i]);
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
                            double atol, size_t output, const char *current)
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
                    double atol, size_t output, const char *current)
{
    ck_assert_msg(got->kind == want->kind, "%s: output %zu is of kind %d, not %d", current, output,
                  (int)got->kind, (int)want->kind);
    ck_assert_msg(got->n_items == want->n_items, "%s: output %zu has %zu elements, not %zu",
                  current, output, got->n_items, want->n_items);
    if (want->kind == OX_DATUM_TENSOR || want->kind == OX_DATUM_MAP)
        compare_tensors(got->tensor, want->tensor, rtol, atol, output, current);
    for (size_t i = 0; i < want->n_items; i++)
        compare(got->items[i], want->items[i], rtol, atol, output, current);
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
                            const struct ox_datum *want, const char *current)
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
                          struct ox_datum *const *want, size_t n_out, const char *current)
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

static void run_set(const struct suite_case *c, struct ox_session *session, const char *current,
                    const uint8_t **at)
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
        judge_bernoulli(in, got[0], want[0], current);
    else if (c->special == SUITE_DROPOUT)
        judge_dropout(in, n_in, got, want, n_out, current);
    for (size_t i = 0; c->special == SUITE_PLAIN && i < n_out; i++)
        compare(got[i], want[i], c->rtol, c->atol, i, current);
    for (size_t i = 0; i < MOST_VALUES; i++) {
        ox_datum_release(in[i]);
        ox_datum_release(want[i]);
        ox_datum_release(got[i]);
    }
}

void suite_judge(const struct suite_case *c, struct ox_session *session, const char *label)
{
    const uint8_t *at = c->sets;
    for (size_t s = 0; s < c->n_sets; s++)
        run_set(c, session, label, &at);
}
