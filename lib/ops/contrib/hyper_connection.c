/* Hyper-connections (com.microsoft): C streams of H features beside each other, [..., C, H] or, with num_branches, [..., C * H].
 * BranchwiseRMSNorm HyperConnectionPreMix HyperConnectionPostMix EngramGate. In double, a row of streams at a time. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

enum { ELEMENTS = 1024 }; /* of a task, at the least */

struct streams {
    const struct ox_tensor *x;
    size_t rows, branches, width; /* x->n is their product */
    unsigned lead;                /* axes of rows */
};

static enum ox_status read_streams(struct ox_run *r, struct streams *s, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const int64_t branches = ox_run_int(r, "num_branches", 0);
    const int64_t last = x->rank ? x->dims[x->rank - 1] : 0;
    *s = (struct streams){.x = x, .rows = 1};
    if (branches < 0 || (branches && (last < 1 || last % branches)))
        return ox_run_fail(r, err, OX_INPUT, "%" PRId64 " columns are no %" PRId64 " branches",
                           last, branches);
    if (!branches && (x->rank < 2 || last < 1 || x->dims[x->rank - 2] < 1))
        return ox_run_fail(r, err, OX_INPUT, "the streams have rank %u, or no branch or feature",
                           x->rank);
    s->lead = x->rank - (branches ? 1 : 2);
    s->branches = (size_t)(branches ? branches : x->dims[s->lead]);
    s->width = (size_t)(branches ? last / branches : last);
    for (unsigned d = 0; d < s->lead; d++)
        s->rows *= (size_t)x->dims[d];
    return OX_OK;
}

/* Whether t has the rows of the streams, and behind them the n axes given. */
static bool has_shape(const struct streams *s, const struct ox_tensor *t, unsigned n, size_t first,
                      size_t second)
{
    const size_t axes[] = {first, second};
    bool fits = t->rank == s->lead + n;
    for (unsigned d = 0; fits && d < t->rank; d++)
        fits = t->dims[d] == (d < s->lead ? s->x->dims[d] : (int64_t)axes[d - s->lead]);
    return fits;
}

/* One number a branch (*wide false), or one an element. */
static enum ox_status read_gate(struct ox_run *r, const struct streams *s, const char *what,
                                const struct ox_tensor *gate, bool flat, bool *wide,
                                struct ox_error *err)
{
    *wide = false;
    if (has_shape(s, gate, 1, s->branches, 0) || has_shape(s, gate, 2, s->branches, 1))
        return OX_OK;
    *wide = has_shape(s, gate, 2, s->branches, s->width) ||
            (flat && has_shape(s, gate, 1, s->branches * s->width, 0));
    if (*wide)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "%s is no [rows, %zu], [rows, %zu, 1] or [rows, %zu, %zu]",
                       what, s->branches, s->branches, s->branches, s->width);
}

/* What tasks share: each takes at_once rows with a row of doubles of its own for each of them. */
struct mix {
    struct streams s;
    size_t rows, at_once, room;
    const struct ox_tensor *pre, *block, *post, *mixer; /* mixer: NULL: the identity */
    const struct ox_tensor *key, *query, *value;
    const double *scale, *key_scale, *query_scale, *conv_scale; /* NULL: 1 */
    size_t scale_period;
    struct ox_tensor *y, *normed;
    double factor;
    bool wide;
    void (*row)(const struct mix *m, size_t row, double *room);
    struct ox_task_state state;
};

static void mix_task(void *arg, size_t task)
{
    struct mix *m = arg;
    double *room = ox_task_alloc(&m->state, m->room, sizeof *room);
    for (size_t row = task * m->at_once; room && row < m->rows && row < (task + 1) * m->at_once;
         row++)
        m->row(m, row, room);
    if (room)
        ox_task_free(&m->state, room, m->room, sizeof *room);
}

/* `elements` a row. */
static enum ox_status run_rows(struct ox_run *r, struct mix *m, size_t elements,
                               struct ox_error *err)
{
    m->state.budget = ox_env_budget(r->env);
    m->at_once = ELEMENTS / (elements + 1) + 1;
    if (m->rows)
        ox_parallel(r->env, (m->rows - 1) / m->at_once + 1, mix_task, m);
    OX_TRY(ox_env_poll(r->env, err));
    return m->state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static double inverse_rms(const double *x, size_t n, double epsilon)
{
    return 1 / sqrt(ox_dot(x, x, n) / (double)n + epsilon);
}

/* ---- BranchwiseRMSNorm -------------------------------------------------------------------------------------------- */

static void norm_row(const struct mix *m, size_t row, double *x)
{
    const size_t width = m->s.width;
    ox_real_load(m->s.x, row * width, width, x);
    const double inverse = inverse_rms(x, width, m->factor);
    const double *scale = m->scale ? m->scale + row * width % m->scale_period : NULL;
    for (size_t i = 0; i < width; i++)
        x[i] *= inverse * (scale ? scale[i] : 1);
    ox_real_store(m->y, row * width, width, x);
}

static enum ox_status run_branch_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, 1);
    struct mix m = {.row = norm_row, .factor = (double)ox_run_float(r, "epsilon", 1e-5F)};
    OX_TRY(read_streams(r, &m.s, err));
    const size_t width = m.s.width, all = m.s.branches * width;
    if (scale && !(scale->rank == 1 && (scale->n == width || scale->n == all)) &&
        !(scale->rank == 2 && (size_t)scale->dims[0] == m.s.branches &&
          (size_t)scale->dims[1] == width))
        return ox_run_fail(r, err, OX_INPUT, "scale is no [%zu], [%zu] or [%zu, %zu]", width, all,
                           m.s.branches, width);
    m.rows = m.s.rows * m.s.branches;
    m.room = width;
    m.scale_period = scale ? scale->n : width;
    OX_TRY(ox_real_in(r, 1, &m.scale, err));
    OX_TRY(ox_run_out(r, 0, m.s.x->dtype, m.s.x->rank, m.s.x->dims, &m.y, err));
    return run_rows(r, &m, width, err);
}

/* ---- HyperConnectionPreMix ---------------------------------------------------------------------------------------- */

static void pre_mix_row(const struct mix *m, size_t row, double *y)
{
    const size_t width = m->s.width, n_gates = m->wide ? width : 1;
    double *x = y + width, *gate = x + width;
    memset(y, 0, width * sizeof *y);
    for (size_t c = 0; c < m->s.branches; c++) {
        const size_t branch = row * m->s.branches + c;
        ox_real_load(m->s.x, branch * width, width, x);
        ox_real_load(m->pre, branch * n_gates, n_gates, gate);
        for (size_t i = 0; i < width; i++)
            y[i] += x[i] * gate[m->wide ? i : 0];
    }
    for (size_t i = 0; i < width; i++)
        y[i] *= m->factor;
    ox_real_store(m->y, row * width, width, y);
}

static enum ox_status run_pre_mix(struct ox_run *r, struct ox_error *err)
{
    struct mix m = {.row = pre_mix_row,
                    .pre = ox_run_in(r, 1),
                    .factor = (double)ox_run_float(r, "reduction_scale", 1)};
    int64_t dims[OX_MOST_RANK];
    OX_TRY(read_streams(r, &m.s, err));
    const bool flat = m.s.lead + 1 == m.s.x->rank;
    OX_TRY(read_gate(r, &m.s, "pre_mix", m.pre, flat, &m.wide, err));
    m.rows = m.s.rows;
    m.room = 3 * m.s.width;
    if (m.s.lead)
        memcpy(dims, m.s.x->dims, m.s.lead * sizeof *dims);
    dims[m.s.lead] = (int64_t)m.s.width;
    OX_TRY(ox_run_out(r, 0, m.s.x->dtype, m.s.lead + 1, dims, &m.y, err));
    return run_rows(r, &m, m.s.branches * m.s.width, err);
}

static void infer_pre_mix(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const int64_t branches = ox_infer_int_attr(c, "num_branches", 0);
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x))
        return;
    if (branches < 0 || rank < (branches ? 1U : 2U)) {
        ox_infer_conflict(c, "the streams have rank %u and %" PRId64 " branches", rank, branches);
        return;
    }
    const unsigned last = rank - (branches ? 1 : 2);
    const struct ox_expr **dims = ox_infer_dims(c, last + 1);
    for (unsigned d = 0; dims && d < last; d++)
        dims[d] = x[d];
    if (!dims)
        return;
    dims[last] = branches ? ox_infer_floordiv(c, x[last], ox_infer_num(c, branches)) : x[rank - 1];
    ox_infer_set_shape(c, 0, last + 1, dims);
}

/* ---- HyperConnectionPostMix --------------------------------------------------------------------------------------- */

static void post_mix_row(const struct mix *m, size_t row, double *y)
{
    const size_t n = m->s.branches, width = m->s.width, n_gates = m->wide ? width : 1;
    double *x = y + width, *block = x + n * width, *gate = block + width, *mixer = gate + width;
    ox_real_load(m->s.x, row * n * width, n * width, x);
    ox_real_load(m->block, row * width, width, block);
    if (m->mixer)
        ox_real_load(m->mixer, row * n * n, n * n, mixer);
    for (size_t k = 0; k < n; k++) {
        const size_t branch = row * n + k;
        if (m->mixer)
            memset(y, 0, width * sizeof *y);
        else
            memcpy(y, x + k * width, width * sizeof *y);
        for (size_t c = 0; m->mixer && c < n; c++)
            for (size_t i = 0; i < width; i++)
                y[i] += mixer[c * n + k] * x[c * width + i];
        ox_real_load(m->post, branch * n_gates, n_gates, gate);
        for (size_t i = 0; i < width; i++)
            y[i] += gate[m->wide ? i : 0] * block[i];
        ox_real_store(m->y, branch * width, width, y);
    }
}

static enum ox_status run_post_mix(struct ox_run *r, struct ox_error *err)
{
    struct mix m = {.row = post_mix_row,
                    .block = ox_run_in(r, 1),
                    .post = ox_run_in(r, 2),
                    .mixer = ox_run_in(r, 3)};
    OX_TRY(read_streams(r, &m.s, err));
    const size_t n = m.s.branches, width = m.s.width;
    if (!has_shape(&m.s, m.block, 1, width, 0))
        return ox_run_fail(r, err, OX_INPUT, "block_output is no [rows, %zu]", width);
    OX_TRY(read_gate(r, &m.s, "post_mix", m.post, false, &m.wide, err));
    if (m.mixer && !has_shape(&m.s, m.mixer, 2, n, n))
        return ox_run_fail(r, err, OX_INPUT, "stream_mix is no [rows, %zu, %zu]", n, n);
    m.rows = m.s.rows;
    if (OX_MUL_OVERFLOWS(n, n + width, &m.room) || OX_ADD_OVERFLOWS(m.room, 3 * width, &m.room))
        return ox_run_fail(r, err, OX_LIMIT, "a row is too large");
    OX_TRY(ox_run_out(r, 0, m.s.x->dtype, m.s.x->rank, m.s.x->dims, &m.y, err));
    return run_rows(r, &m, n * width, err);
}

/* ---- EngramGate --------------------------------------------------------------------------------------------------- */

static void engram_row(const struct mix *m, size_t row, double *key)
{
    const size_t n = m->s.branches, width = m->s.width, branch = row % n * width;
    const double *key_scale = m->key_scale + branch, *query_scale = m->query_scale + branch;
    double *query = key + width, *y = key, keys = 0, queries = 0, dot = 0;
    ox_real_load(m->key, row * width, width, key);
    ox_real_load(m->query, row * width, width, query);
    for (size_t i = 0; i < width; i++) {
        keys += key[i] * key[i];
        queries += query[i] * query[i];
        dot += key[i] * key_scale[i] * (query[i] * query_scale[i]);
    }
    dot /= sqrt(keys / (double)width + m->factor) * sqrt(queries / (double)width + m->factor) *
           sqrt((double)width);
    const double size = sqrt(fabs(dot) < 1e-6 ? 1e-6 : fabs(dot));
    const double push = dot > 0 ? size : dot < 0 ? -size : dot; /* 0 and NaN stay */
    const double gate = ox_sigmoid(push);
    ox_real_load(m->value, row / n * width, width, y);
    for (size_t i = 0; i < width; i++)
        y[i] *= gate;
    ox_real_store(m->y, row * width, width, y);
    if (!m->normed)
        return;
    ox_real_round(m->key->dtype, y, width);
    const double inverse = inverse_rms(y, width, m->factor);
    for (size_t i = 0; i < width; i++)
        y[i] *= inverse * m->conv_scale[branch + i];
    ox_real_store(m->normed, row * width, width, y);
}

static enum ox_status engram_scale(struct ox_run *r, size_t i, const struct streams *s,
                                   const double **out, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    if (!t || t->rank != 2 || (size_t)t->dims[0] != s->branches || (size_t)t->dims[1] != s->width)
        return ox_run_fail(r, err, OX_INPUT, "input %zu is no [%zu, %zu] of scales", i, s->branches,
                           s->width);
    return ox_real_in(r, i, out, err);
}

static enum ox_status run_engram(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *key = ox_run_in(r, 0), *query = ox_run_in(r, 1),
                           *value = ox_run_in(r, 2);
    struct mix m = {.row = engram_row,
                    .key = key,
                    .query = query,
                    .value = value,
                    .factor = (double)ox_run_float(r, "epsilon", 1e-5F)};
    if (key->rank != 4 || query->rank != 4 ||
        memcmp(key->dims, query->dims, 4 * sizeof *key->dims) != 0 || key->dims[2] < 1 ||
        key->dims[3] < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "key and query are not of one shape [batch, sequence, streams, hidden]");
    m.s = (struct streams){.x = key,
                           .rows = (size_t)key->dims[0] * (size_t)key->dims[1],
                           .branches = (size_t)key->dims[2],
                           .width = (size_t)key->dims[3],
                           .lead = 2};
    if (!has_shape(&m.s, value, 1, m.s.width, 0))
        return ox_run_fail(r, err, OX_INPUT, "value is no [batch, sequence, %zu]", m.s.width);
    OX_TRY(engram_scale(r, 3, &m.s, &m.key_scale, err));
    OX_TRY(engram_scale(r, 4, &m.s, &m.query_scale, err));
    if (ox_run_has(r, 5) || ox_run_wants(r, 1))
        OX_TRY(engram_scale(r, 5, &m.s, &m.conv_scale, err));
    m.rows = m.s.rows * m.s.branches;
    m.room = 2 * m.s.width;
    OX_TRY(ox_run_out(r, 0, key->dtype, 4, key->dims, &m.y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, key->dtype, 4, key->dims, &m.normed, err));
    return run_rows(r, &m, m.s.width, err);
}

static void infer_engram(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    if (ox_infer_n_out(c) > 1)
        ox_infer_same(c, 1, 0);
    ox_rule_rank(c, 0, 4);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_hyper_connection[] = {
    {MS, "BranchwiseRMSNorm", 1, OX_OP_HALF, .infer = ox_rule_same, .run = run_branch_norm},
    {MS, "EngramGate", 1, OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_engram, .run = run_engram},
    {MS, "HyperConnectionPostMix", 1, OX_OP_HALF, .infer = ox_rule_same, .run = run_post_mix},
    {MS, "HyperConnectionPreMix", 1, OX_OP_HALF, .infer = infer_pre_mix, .run = run_pre_mix},
    {0}};
