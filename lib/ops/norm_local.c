/* LRN and LpNormalization: each element by a norm over its neighbours on one axis. */
#include <float.h>
#include <math.h>

#include "kernels/folds.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"

/* x as [outer, n, inner]; a piece of work is one outer index and a stretch of inner. */
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

enum { STRETCH = 256, TOGETHER = 64 };

static void lrn_stretch(const struct axis_job *j, const double *in, double *out, size_t m)
{
    for (size_t c = 0; c < j->n; c++) {
        size_t lo = (int64_t)c > j->before ? c - (size_t)j->before : 0;
        size_t hi = (int64_t)(j->n - 1 - c) > j->after ? c + (size_t)j->after + 1 : j->n;
        for (size_t k = 0; k < m; k++)
            out[c * m + k] = 0;
        for (size_t o = lo; o < hi; o++)
            for (size_t k = 0; k < m; k++)
                out[c * m + k] += in[o * m + k] * in[o * m + k];
        for (size_t k = 0; k < m; k++) {
            double base = j->bias + j->alpha * out[c * m + k];
            out[c * m + k] = in[c * m + k] / pow(base, j->beta);
        }
    }
}

static void lp_stretch(const struct axis_job *j, const double *in, double *out, size_t m)
{
    for (size_t k = 0; k < m; k++) {
        double norm = 0;
        for (size_t c = 0; c < j->n; c++) {
            double v = in[c * m + k];
            norm += j->p == 1 ? fabs(v) : v * v;
        }
        norm = j->p == 1 ? norm : sqrt(norm);
        for (size_t c = 0; c < j->n; c++)
            out[c * m + k] = norm == 0 ? 0 : in[c * m + k] / norm;
    }
}

static void do_stretch(const struct axis_job *j, size_t i, double *in)
{
    const size_t first = i % j->stretches * STRETCH;
    const size_t base = i / j->stretches * j->n * j->inner + first;
    const size_t m = j->inner - first < STRETCH ? j->inner - first : STRETCH;
    /* One that is all of inner lies in one piece. */
    const size_t pieces = m == j->inner ? 1 : j->n, piece = m == j->inner ? j->n * m : m;
    double *out = in + j->n * m;
    for (size_t c = 0; c < pieces; c++)
        ox_real_load(j->x, base + c * j->inner, piece, in + c * piece);
    (j->lrn ? lrn_stretch : lp_stretch)(j, in, out, m);
    for (size_t c = 0; c < pieces; c++)
        ox_real_store(j->y, base + c * j->inner, piece, out + c * piece);
}

static void axis_task(void *arg, size_t from, size_t to)
{
    struct axis_job *j = arg;
    const size_t wide = j->inner < STRETCH ? j->inner : STRETCH;
    double *in = ox_task_alloc(&j->state, j->n, 2 * wide * sizeof *in);
    for (size_t i = from; in && i < to; i++)
        do_stretch(j, i, in);
    ox_task_free(&j->state, in, j->n, 2 * wide * sizeof *in);
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
    const size_t cost = j->n * (j->inner < STRETCH ? j->inner : STRETCH);
    ox_ranges_run(r->env, x->n / j->n / j->inner * j->stretches,
                  cost < OX_GRAIN ? OX_GRAIN / cost : 1, axis_task, j);
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

/* ---- LpNormalization of float32 and double -------------------------------------------------------------------------- */

struct lp_job {
    const struct ox_fold *fold;
    const void *x;
    void *y;
    size_t n, inner, stretches;
    bool squares;
    /* m neighbours from element `at` on, whose elements lie `inner` apart. */
    void (*lanes)(const struct lp_job *j, size_t m, size_t at);
};

/* Sums in double, quotients in float: of norms that are 0 or beyond a float's range in double. */
static float quotient(float x, double norm)
{
    return norm == 0 ? 0 : (float)((double)x / norm);
}

static bool in_range(float norm)
{
    return norm >= FLT_MIN && norm <= FLT_MAX;
}

/* Rows of which some sums are out of a float's range, m of them. */
static void norm_rows_apart(const struct lp_job *j, size_t m, const float *x, const double *norm,
                            float *y)
{
    for (size_t row = 0; row < m; row++, x += j->n, y += j->n) {
        const float by = (float)norm[row];
        if (in_range(by))
            ox_fast_divide_rows(1, j->n, x, &by, y);
        for (size_t i = 0; !in_range(by) && i < j->n; i++)
            y[i] = quotient(x[i], norm[row]);
    }
}

static void norm_task(void *arg, size_t from, size_t to)
{
    const struct lp_job *j = arg;
    for (size_t row = from, m; row < to; row += m) {
        const float *x = (const float *)j->x + row * j->n;
        float *y = (float *)j->y + row * j->n, by[TOGETHER];
        double norm[TOGETHER];
        int plain = 1;
        m = to - row < TOGETHER ? to - row : TOGETHER;
        j->fold->start(norm, m);
        j->fold->rows(norm, x, m, j->n);
        for (size_t i = 0; j->squares && i < m; i++)
            norm[i] = sqrt(norm[i]);
        for (size_t i = 0; i < m; i++) {
            by[i] = (float)norm[i];
            plain &= (by[i] >= FLT_MIN) & (by[i] <= FLT_MAX);
        }
        if (plain)
            ox_fast_divide_rows(m, j->n, x, by, y);
        else
            norm_rows_apart(j, m, x, norm, y);
    }
}

static void norm_lanes(const struct lp_job *j, size_t m, size_t at)
{
    const struct ox_rows *rows = ox_fast_rows();
    const float *x = (const float *)j->x + at;
    float *y = (float *)j->y + at;
    double norm[STRETCH];
    float by[STRETCH];
    bool plain = true;
    j->fold->start(norm, m);
    j->fold->lanes(norm, x, m, j->n, j->inner, NULL);
    for (size_t k = 0; k < m; k++) {
        norm[k] = j->squares ? sqrt(norm[k]) : norm[k];
        by[k] = (float)norm[k];
        plain &= in_range(by[k]);
    }
    for (size_t c = 0; c < j->n; c++, x += j->inner, y += j->inner) {
        if (plain)
            rows->binary[OX_BINARY_DIV][OX_ROW_BOTH](m, x, by, y);
        else
            for (size_t k = 0; k < m; k++)
                y[k] = in_range(by[k]) ? x[k] / by[k] : quotient(x[k], norm[k]);
    }
}

static void norm_doubles_task(void *arg, size_t from, size_t to)
{
    const struct lp_job *j = arg;
    const double *restrict x = (const double *)j->x + from * j->n;
    double *restrict y = (double *)j->y + from * j->n;
    double sum[TOGETHER];
    for (size_t row = from; row < to; row++, x += j->n, y += j->n) {
        const size_t which = (row - from) % TOGETHER, left = to - row;
        if (which == 0) {
            j->fold->start(sum, left < TOGETHER ? left : TOGETHER);
            j->fold->rows(sum, x, left < TOGETHER ? left : TOGETHER, j->n);
        }
        const double norm = j->squares ? sqrt(sum[which]) : sum[which];
        for (size_t i = 0; i < j->n; i++)
            y[i] = norm == 0 ? 0 : x[i] / norm;
    }
}

static void norm_doubles(const struct lp_job *j, size_t m, size_t at)
{
    const double *restrict x = (const double *)j->x + at;
    double *restrict y = (double *)j->y + at;
    double norm[STRETCH];
    j->fold->start(norm, m);
    j->fold->lanes(norm, x, m, j->n, j->inner, NULL);
    for (size_t k = 0; k < m && j->squares; k++)
        norm[k] = sqrt(norm[k]);
    for (size_t c = 0; c < j->n; c++, x += j->inner, y += j->inner)
        for (size_t k = 0; k < m; k++)
            y[k] = norm[k] == 0 ? 0 : x[k] / norm[k];
}

static void norm_lanes_task(void *arg, size_t from, size_t to)
{
    const struct lp_job *j = arg;
    for (size_t i = from; i < to; i++) {
        const size_t lane = i % j->stretches * STRETCH;
        const size_t m = j->inner - lane < STRETCH ? j->inner - lane : STRETCH;
        const size_t at = i / j->stretches * j->n * j->inner + lane;
        j->lanes(j, m, at);
    }
}

static enum ox_status fast_lp_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const int64_t p = ox_run_int(r, "p", 2), given = ox_run_int(r, "axis", -1);
    if (!x || !x->n || !x->rank || (x->dtype != OX_FLOAT32 && x->dtype != OX_FLOAT64) ||
        (p != 1 && p != 2))
        return OX_UNSUPPORTED;
    const bool doubles = x->dtype == OX_FLOAT64;
    unsigned axis;
    OX_TRY(ox_run_axis(r, given, x->rank, &axis, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    const enum ox_fold_kind kind = p == 1 ? OX_FOLD_SUM_OF_ABS : OX_FOLD_SUM_OF_SQUARES;
    struct lp_job job = {.fold = ox_folds(ox_cpu())->of[kind][x->dtype],
                         .x = x->data,
                         .y = y->data,
                         .n = (size_t)x->dims[axis],
                         .inner = 1,
                         .squares = p == 2,
                         .lanes = doubles ? norm_doubles : norm_lanes};
    for (unsigned d = axis + 1; d < x->rank; d++)
        job.inner *= (size_t)x->dims[d];
    job.stretches = (job.inner - 1) / STRETCH + 1;
    const size_t n = job.n * (job.inner < STRETCH ? job.inner : STRETCH);
    ox_fast_spread(r->env, x->n / job.n / job.inner * job.stretches, n >= 8192 ? 1 : 8192 / n,
                   0.4 * (double)n,
                   job.inner > 1 ? norm_lanes_task
                   : doubles     ? norm_doubles_task
                                 : norm_task,
                   &job);
    return OX_OK;
}

const struct ox_op ox_ops_norm_local[] = {
    {"", "LRN", 1, .infer = infer_same, .run = run_lrn},
    {"", "LRN", 13, .infer = infer_same, .run = run_lrn},
    {"", "LpNormalization", 1, OX_OP_DOUBLE, .infer = infer_same, .run = run_lp_norm,
     .fast = fast_lp_norm},
    {"", "LpNormalization", 22, OX_OP_DOUBLE, .infer = infer_same, .run = run_lp_norm,
     .fast = fast_lp_norm},
    {0}};
