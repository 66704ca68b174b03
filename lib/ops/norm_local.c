/* LRN and LpNormalization: each element by a norm over its neighbours on one axis. */
#include <math.h>

#include "common/threads.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"

/* x as [outer, n, inner]; a task is one outer index and a stretch of inner. */
struct axis_job {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    size_t n, inner, stretches;
    int64_t before, after; /* LRN: channels on each side that count */
    double alpha, beta, bias;
    bool lrn;
    int64_t p;
    struct ox_task_state state;
};

enum { STRETCH = 256 };

static void lrn_stretch(const struct axis_job *j, const double *in, double *out, size_t m)
{
    for (size_t c = 0; c < j->n; c++) {
        size_t lo = (int64_t)c > j->before ? c - (size_t)j->before : 0;
        size_t hi = (int64_t)(j->n - 1 - c) > j->after ? c + (size_t)j->after + 1 : j->n;
        for (size_t k = 0; k < m; k++)
            out[c * STRETCH + k] = 0;
        for (size_t o = lo; o < hi; o++)
            for (size_t k = 0; k < m; k++)
                out[c * STRETCH + k] += in[o * STRETCH + k] * in[o * STRETCH + k];
        for (size_t k = 0; k < m; k++) {
            double base = j->bias + j->alpha * out[c * STRETCH + k];
            out[c * STRETCH + k] = in[c * STRETCH + k] / pow(base, j->beta);
        }
    }
}

static void lp_stretch(const struct axis_job *j, const double *in, double *out, size_t m)
{
    for (size_t k = 0; k < m; k++) {
        double norm = 0;
        for (size_t c = 0; c < j->n; c++) {
            double v = in[c * STRETCH + k];
            norm += j->p == 1 ? fabs(v) : v * v;
        }
        norm = j->p == 1 ? norm : sqrt(norm);
        for (size_t c = 0; c < j->n; c++)
            out[c * STRETCH + k] = norm == 0 ? 0 : in[c * STRETCH + k] / norm;
    }
}

static void axis_task(void *arg, size_t i)
{
    struct axis_job *j = arg;
    size_t first = i % j->stretches * STRETCH, base = i / j->stretches * j->n * j->inner + first;
    size_t m = j->inner - first < STRETCH ? j->inner - first : STRETCH;
    double *in = ox_task_alloc(&j->state, j->n, 2 * STRETCH * sizeof *in);
    if (!in)
        return;
    double *out = in + j->n * STRETCH;
    for (size_t c = 0; c < j->n; c++)
        ox_real_load(j->x, base + c * j->inner, m, in + c * STRETCH);
    (j->lrn ? lrn_stretch : lp_stretch)(j, in, out, m);
    for (size_t c = 0; c < j->n; c++)
        ox_real_store(j->y, base + c * j->inner, m, out + c * STRETCH);
    ox_task_free(&j->state, in, j->n, 2 * STRETCH * sizeof *in);
}

static enum ox_status over_axis(struct ox_run *r, struct axis_job *j, unsigned axis,
                                struct ox_error *err)
{
    const struct ox_tensor *x = j->x = ox_run_in(r, 0);
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &j->y, err));
    if (!x->n)
        return OX_OK;
    j->inner = 1;
    for (unsigned d = axis + 1; d < x->rank; d++)
        j->inner *= (size_t)x->dims[d];
    j->n = (size_t)x->dims[axis];
    j->stretches = (j->inner + STRETCH - 1) / STRETCH;
    j->state.budget = ox_env_budget(r->env);
    ox_parallel(r->env, x->n / j->n / j->inner * j->stretches, axis_task, j);
    OX_TRY(ox_env_poll(r->env, err));
    return j->state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static void infer_same(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

static enum ox_status run_lrn(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    int64_t size = ox_run_int(r, "size", 0);
    if (x->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "the input's rank is %u, not at least 2", x->rank);
    if (size < 1)
        return ox_run_fail(r, err, OX_INPUT, "size is %lld, not positive", (long long)size);
    struct axis_job j = {.lrn = true,
                         .before = (size - 1) / 2,
                         .after = size - 1 - (size - 1) / 2,
                         .alpha = (double)ox_run_float(r, "alpha", 1e-4f) / (double)size,
                         .beta = (double)ox_run_float(r, "beta", 0.75f),
                         .bias = (double)ox_run_float(r, "bias", 1)};
    return over_axis(r, &j, 1, err);
}

static enum ox_status run_lp_norm(struct ox_run *r, struct ox_error *err)
{
    struct axis_job j = {.p = ox_run_int(r, "p", 2)};
    unsigned axis;
    if (j.p != 1 && j.p != 2)
        return ox_run_fail(r, err, OX_INPUT, "p is %lld, not 1 or 2", (long long)j.p);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), ox_run_in(r, 0)->rank, &axis, err));
    return over_axis(r, &j, axis, err);
}

const struct ox_op ox_ops_norm_local[] = {
    {"", "LRN", 1, .infer = infer_same, .run = run_lrn},
    {"", "LRN", 13, .infer = infer_same, .run = run_lrn},
    {"", "LpNormalization", 1, .infer = infer_same, .run = run_lp_norm},
    {"", "LpNormalization", 22, .infer = infer_same, .run = run_lp_norm},
    {0}};
