/* Faster QLinearSigmoid, QLinearLeakyRelu, QLinearConcat and QLinearWhere: a table of codes an input, looked up in vectors. */
#include <string.h>

#include "ops/broadcast.h"
#include "ops/contrib/qlinear.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"

struct map {
    const struct ox_bytes *kernels;
    const uint8_t *x;
    uint8_t *y;
    uint8_t codes[256];
    bool same; /* every code stands for itself */
    /* Where rows of `part` codes go, `pitch` apart. */
    size_t part, pitch;
};

static const double NS = 0.06; /* a code */

static bool is_same(const uint8_t codes[256])
{
    for (size_t c = 0; c < 256; c++)
        if (codes[c] != c)
            return false;
    return true;
}

static void map_row(const struct map *m, size_t n, const uint8_t *x, uint8_t *y)
{
    if (m->same)
        memcpy(y, x, n);
    else
        m->kernels->look_up(n, x, m->codes, y);
}

/* ---- One operand -------------------------------------------------------------------------------------------------- */

static void map_range(void *arg, size_t from, size_t to)
{
    const struct map *m = arg;
    m->kernels->look_up(to - from, m->x + from, m->codes, m->y + from);
}

static enum ox_status run_function(struct ox_run *r, enum ox_fused kind, double alpha,
                                   struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct map m = {.kernels = ox_bytes(ox_cpu()), .x = x->data};
    struct ox_tensor *y;
    OX_TRY(ox_qlinear_function(r, kind, alpha, m.codes, err));
    OX_TRY(ox_run_out_reuse(r, 0, 0, x->dtype, x->rank, x->dims, &y, err));
    m.y = y->data;
    ox_fast_spread(r->env, x->n, OX_GRAIN, NS, map_range, &m);
    return OX_OK;
}

enum ox_status ox_int8_leaky_relu(struct ox_run *r, struct ox_error *err)
{
    return run_function(r, OX_FUSED_LEAKY_RELU, (double)ox_run_float(r, "alpha", 0.01f), err);
}

enum ox_status ox_int8_sigmoid(struct ox_run *r, struct ox_error *err)
{
    return run_function(r, OX_FUSED_SIGMOID, 0, err);
}

/* ---- QLinearConcat ------------------------------------------------------------------------------------------------ */

enum { CHUNK = 4096, SHORT = 64 };

/* Codes [from, to) of the input, row by row. */
static void place_long(void *arg, size_t from, size_t to)
{
    const struct map *m = arg;
    for (size_t n; from < to; from += n) {
        const size_t row = from / m->part, at = from % m->part;
        n = m->part - at < to - from ? m->part - at : to - from;
        map_row(m, n, m->x + from, m->y + row * m->pitch + at);
    }
}

/* Each row's first and last `half` codes, which are all of it. */
static inline __attribute__((always_inline)) void
copy_halves(const struct map *m, size_t n, const uint8_t *x, uint8_t *y, const size_t half)
{
    const size_t last = m->part - half;
    for (; n > 0; n--, x += m->part, y += m->pitch) {
        memcpy(y, x, half);
        memcpy(y + last, x + last, half);
    }
}

static void copy_short(const struct map *m, size_t n, const uint8_t *x, uint8_t *y)
{
    if (m->part >= 32)
        copy_halves(m, n, x, y, 32);
    else if (m->part >= 16)
        copy_halves(m, n, x, y, 16);
    else if (m->part >= 8)
        copy_halves(m, n, x, y, 8);
    else if (m->part >= 4)
        copy_halves(m, n, x, y, 4);
    else if (m->part >= 2)
        copy_halves(m, n, x, y, 2);
    else
        copy_halves(m, n, x, y, 1);
}

/* Rows [from, to) that are too short to be looked up one by one. */
static void place_short(void *arg, size_t from, size_t to)
{
    const struct map *m = arg;
    const size_t most = CHUNK / m->part;
    uint8_t codes[CHUNK];
    for (size_t n; from < to; from += n) {
        n = to - from < most ? to - from : most;
        map_row(m, n * m->part, m->x + from * m->part, codes);
        copy_short(m, n, codes, m->y + from * m->pitch);
    }
}

enum ox_status ox_int8_concat(struct ox_run *r, struct ox_error *err)
{
    struct ox_qparam to;
    struct ox_tensor *y;
    unsigned axis;
    OX_TRY(ox_qlinear_concat_out(r, &to, &axis, &y, err));
    struct map m = {.kernels = ox_bytes(ox_cpu()), .y = y->data, .pitch = 1};
    for (unsigned d = axis; y->n && d < y->rank; d++)
        m.pitch *= (size_t)y->dims[d];
    for (size_t i = 2; y->n && i < r->n_in; i += 3, m.y += m.part) {
        const struct ox_tensor *x = ox_run_in(r, i);
        OX_TRY(ox_qlinear_recode(r, i, &to, y->dtype, m.codes, err));
        m.same = is_same(m.codes);
        m.x = x->data;
        m.part = m.pitch / (size_t)y->dims[axis] * (size_t)x->dims[axis];
        if (m.part >= SHORT)
            ox_fast_spread(r->env, x->n, OX_GRAIN, NS, place_long, &m);
        else if (m.part)
            ox_fast_spread(r->env, x->n / m.part, OX_GRAIN / SHORT, NS * SHORT, place_short, &m);
    }
    return OX_OK;
}

/* ---- QLinearWhere ------------------------------------------------------------------------------------------------- */

struct where_job {
    struct map of[2]; /* where the condition holds, and where it does not */
};

/* n <= CHUNK codes of an operand: where they lie, or in `codes`. */
static const uint8_t *mapped(const struct map *m, const uint8_t *x, size_t step, size_t n,
                             uint8_t *codes)
{
    if (!step)
        memset(codes, m->codes[*x], n);
    else if (!m->same)
        m->kernels->look_up(n, x, m->codes, codes);
    return step && m->same ? x : codes;
}

static void choose(size_t n, const bool *condition, const uint8_t *x, const uint8_t *y,
                   uint8_t *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(y[i] ^ ((x[i] ^ y[i]) & -(int)condition[i]));
}

static void where_row(const struct ox_row *row, const void *arg)
{
    const struct where_job *job = arg;
    const bool *condition = row->in[0];
    uint8_t codes[2][CHUNK], *out = row->out;
    for (size_t i = 0; i < row->n; i += CHUNK) {
        const size_t n = row->n - i < CHUNK ? row->n - i : CHUNK;
        const uint8_t *of[2];
        for (size_t k = 0; k < 2; k++)
            if (row->step[0] || *condition == !k)
                of[k] = mapped(&job->of[k], (const uint8_t *)row->in[k + 1] + i * row->step[k + 1],
                               row->step[k + 1], n, codes[k]);
        if (row->step[0])
            choose(n, condition + i, of[0], of[1], out + i);
        else
            memcpy(out + i, of[!*condition], n);
    }
}

enum ox_status ox_int8_where(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 4)};
    struct where_job *job = ox_run_scratch(r, 1, sizeof *job, err);
    struct ox_qparam to;
    struct ox_broadcast plan;
    struct ox_tensor *z;
    if (!job)
        return OX_NO_MEMORY;
    OX_TRY(ox_qparam_in(r, 7, 8, &to, err));
    for (size_t k = 0; k < 2; k++) {
        struct map *m = &job->of[k];
        *m = (struct map){.kernels = ox_bytes(ox_cpu())};
        OX_TRY(ox_qlinear_recode(r, 1 + 3 * k, &to, in[1]->dtype, m->codes, err));
        m->same = is_same(m->codes);
    }
    OX_TRY(ox_broadcast_init(&plan, r, 3, in, err));
    OX_TRY(ox_run_out(r, 0, in[1]->dtype, plan.rank, plan.dims, &z, err));
    const void *data[3] = {in[0]->data, in[1]->data, in[2]->data};
    const size_t sizes[3] = {1, 1, 1};
    ox_broadcast_run(&plan, r->env, data, sizes, z->data, 1, where_row, job);
    return OX_OK;
}
