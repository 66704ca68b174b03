/* MoEGroupRouter of com.microsoft: scores of experts by sigmoids, of which those of the best groups are kept. In float32 as the operator's
 * own outputs are, so that equal scores are equal. */
#include <inttypes.h>
#include <math.h>

#include "ops/infer.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

enum { LOGITS, BIAS, WEIGHT };
enum { PROBS, SCORES, WEIGHTS };

struct router {
    size_t rows, experts, groups, width; /* width: experts of a group */
    size_t kept, summed, chosen; /* groups kept; experts of a group summed; experts chosen */
    const double *logits, *bias;
    double sentinel;
    bool oracle;
};

static double single(const struct router *m, double x)
{
    return m->oracle ? x : (double)(float)x;
}

/* NaN comes last. */
static bool goes_before(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* The best of `n` that is not taken; of equal ones the first. n: there is none. */
static size_t best_of(const double *values, const bool *taken, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!taken[i] && (best == n || goes_before(values[i], values[best])))
            best = i;
    return best;
}

/* The sum of a group's best scores. */
static double score_group(const struct router *m, const double *scores, bool *taken)
{
    double sum = 0;
    for (size_t i = 0; i < m->width; i++)
        taken[i] = false;
    for (size_t i = 0; i < m->summed && i < m->width; i++) {
        const size_t best = best_of(scores, taken, m->width);
        taken[best] = true;
        sum = single(m, sum + scores[best]);
    }
    return sum;
}

/* taken: scratch of groups and experts. probs: of a row, in which the chosen ones get log(max(s, 1e-20)). */
static void route_row(const struct router *m, const double *sigmoids, const double *scores,
                      double *of_groups, bool *taken, double *probs)
{
    bool *out = taken + m->groups;
    for (size_t g = 0; g < m->groups; g++)
        of_groups[g] = score_group(m, scores + g * m->width, out);
    for (size_t g = 0; g < m->groups; g++)
        taken[g] = false;
    for (size_t e = 0; e < m->experts; e++)
        out[e] = true;
    for (size_t i = 0; i < m->kept; i++) {
        const size_t g = best_of(of_groups, taken, m->groups);
        taken[g] = true;
        for (size_t e = 0; e < m->width; e++)
            out[g * m->width + e] = false;
    }
    for (size_t e = 0; e < m->experts; e++)
        probs[e] = m->sentinel;
    for (size_t i = 0; i < m->chosen; i++) {
        const size_t e = best_of(scores, out, m->experts);
        if (e == m->experts)
            break;
        out[e] = true;
        probs[e] = sigmoids[e] < 1e-20 ? log(1e-20) : log(sigmoids[e]);
    }
}

static enum ox_status read_counts(struct ox_run *r, struct router *m, struct ox_error *err)
{
    static const char *const names[] = {"n_group", "topk_group", "group_topk", "top_k"};
    static const int64_t defaults[] = {1, 1, 2, 0};
    size_t *const to[] = {&m->groups, &m->kept, &m->summed, &m->chosen};
    for (size_t i = 0; i < OX_COUNT(to); i++) {
        const int64_t given = ox_run_int(r, names[i], defaults[i]);
        if (given < 1)
            return ox_run_fail(r, err, OX_INPUT, "%s is %" PRId64, names[i], given);
        *to[i] = (size_t)given;
    }
    if (m->groups > m->experts || m->experts % m->groups || m->kept > m->groups ||
        m->chosen > m->experts)
        return ox_run_fail(r, err, OX_INPUT, "%zu of %zu experts, of %zu of %zu groups", m->chosen,
                           m->experts, m->kept, m->groups);
    m->width = m->experts / m->groups;
    return OX_OK;
}

/* What is left of a projection: logits that are not rounded. */
static enum ox_status project(struct ox_run *r, struct router *m, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, LOGITS), *w = ox_run_in(r, WEIGHT);
    const double *in, *weights;
    size_t n;
    if (x->rank != 2 || w->rank != 2 || x->dims[1] != w->dims[1] || x->dims[1] < 1 ||
        x->dims[1] % 256)
        return ox_run_fail(r, err, OX_INPUT,
                           "logits and projection_weight are not [rows, width] and [experts, "
                           "width] of a width of 256 or its multiple");
    m->rows = (size_t)x->dims[0];
    m->experts = (size_t)w->dims[0];
    if (OX_MUL_OVERFLOWS(m->rows, m->experts, &n))
        return ox_run_fail(r, err, OX_LIMIT, "too many scores");
    OX_TRY(ox_real_in(r, LOGITS, &in, err));
    OX_TRY(ox_real_in(r, WEIGHT, &weights, err));
    double *out = ox_real_scratch(r, n, err);
    if (!out)
        return OX_NO_MEMORY;
    const size_t width = (size_t)x->dims[1];
    for (size_t i = 0; i < n; i++)
        out[i] = ox_dot(in + i / m->experts * width, weights + i % m->experts * width, width);
    m->logits = out;
    return OX_OK;
}

static enum ox_status read_router(struct ox_run *r, struct router *m, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, LOGITS), *bias = ox_run_in(r, BIAS);
    const bool full = ox_run_wants(r, SCORES) || ox_run_wants(r, WEIGHTS);
    m->oracle = r->oracle;
    m->sentinel = (double)ox_run_float(r, "router_sentinel", -10000);
    if (full && (!ox_run_wants(r, SCORES) || !ox_run_wants(r, WEIGHTS) || ox_run_wants(r, PROBS)))
        return ox_run_fail(r, err, OX_INPUT,
                           "selection_scores and router_weights come together and without "
                           "router_probs");
    if (ox_run_has(r, WEIGHT) && !full)
        return ox_run_fail(r, err, OX_INPUT, "projection_weight is for full scores");
    if (x->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "logits have rank %u", x->rank);
    if (ox_run_has(r, WEIGHT)) {
        OX_TRY(project(r, m, err));
    } else {
        m->experts = (size_t)x->dims[x->rank - 1];
        m->rows = m->experts ? x->n / m->experts : 0;
        OX_TRY(ox_real_in(r, LOGITS, &m->logits, err));
    }
    OX_TRY(read_counts(r, m, err));
    if (full && (m->groups != 1 || m->kept != 1 || m->experts > 512))
        return ox_run_fail(r, err, OX_INPUT, "full scores of %zu experts of %zu groups", m->experts,
                           m->groups);
    if (bias->n != m->experts)
        return ox_run_fail(r, err, OX_INPUT, "expert_bias has %zu elements for %zu experts",
                           bias->n, m->experts);
    return ox_real_in(r, BIAS, &m->bias, err);
}

static enum ox_status run_router(struct ox_run *r, struct ox_error *err)
{
    struct router m = {.rows = 0};
    OX_TRY(read_router(r, &m, err));
    const size_t n = m.rows * m.experts;
    double *sigmoids = ox_real_scratch(r, n, err), *scores = ox_real_scratch(r, n, err);
    if (!sigmoids || !scores)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        sigmoids[i] = single(&m, ox_sigmoid(m.logits[i]));
        scores[i] = single(&m, sigmoids[i] + m.bias[i % m.experts]);
    }
    const int64_t dims[2] = {(int64_t)m.rows, (int64_t)m.experts};
    if (ox_run_wants(r, SCORES)) {
        OX_TRY(ox_real_out(r, SCORES, OX_FLOAT32, 2, dims, scores, err));
        return ox_real_out(r, WEIGHTS, OX_FLOAT32, 2, dims, sigmoids, err);
    }
    double *probs = ox_real_scratch(r, n, err), *of_groups = ox_real_scratch(r, m.groups, err);
    bool *taken = ox_run_scratch(r, m.groups + m.experts, sizeof *taken, err);
    if (!probs || !of_groups || !taken)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < m.rows; row++) {
        const size_t at = row * m.experts;
        route_row(&m, sigmoids + at, scores + at, of_groups, taken, probs + at);
    }
    return ox_real_out(r, PROBS, ox_run_in(r, LOGITS)->dtype, 2, dims, probs, err);
}

static void infer_router(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, PROBS, LOGITS);
    ox_rule_rank_least(c, LOGITS, 2);
    if (!ox_infer_shape(c, LOGITS, &rank, &x) || rank < 2)
        return;
    const bool projects = ox_infer_has(c, WEIGHT);
    const struct ox_expr *rows = x[0];
    for (unsigned d = 1; d + 1 < rank; d++)
        rows = ox_infer_mul(c, rows, x[d]);
    const struct ox_expr *dims[2] = {rows, projects ? ox_infer_dim(c, WEIGHT, 0) : x[rank - 1]};
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        ox_infer_set_shape(c, i, 2, dims);
}

const struct ox_op ox_ops_group_router[] = {
    {"com.microsoft", "MoEGroupRouter", 1, OX_OP_HALF, .infer = infer_router, .run = run_router},
    {0}};
