/* MoE and QMoE of com.microsoft: each token goes through the experts that its router scores highest, two products each. Computed in
 * double; of QMoE an expert's codes become numbers when it is its turn. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/moe.h"
#include "ops/contrib/nbits.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

struct moe {
    struct ox_moe in;
    const double *bias[2], *scales[2]; /* of the two products */
    double *weights;                   /* of the expert whose turn it is */
    size_t *rows;                      /* its tokens */
    double *x, *h, *y; /* [tokens, hidden], [tokens, first.n_out], [tokens, hidden] */
};

/* ---- Weights ------------------------------------------------------------------------------------------------------ */

struct expert {
    const struct ox_moe_layer *layer;
    const double *scales;
    size_t at;
    double *out;
};

static void row_task(void *arg, size_t row)
{
    const struct expert *e = arg;
    const struct ox_moe_layer *l = e->layer;
    size_t at = e->at * l->n_out + row;
    double *out = e->out + row * l->n_in;
    if (!l->bits) {
        ox_real_load(l->weights, at * l->n_in, l->n_in, out);
        return;
    }
    const uint8_t *codes = (const uint8_t *)l->weights->data + at * (l->n_in * l->bits / 8);
    for (size_t i = 0; i < l->n_in; i++) {
        size_t block = i / l->block;
        unsigned zero = 1u << (l->bits - 1);
        if (l->zeros && l->by_row)
            zero = ox_code_at(l->zeros + at * l->zero_bytes, block, l->bits);
        else if (l->zeros)
            zero = ox_code_at(l->zeros + e->at * l->zero_bytes, row, l->bits);
        out[i] = ((double)ox_code_at(codes, i, l->bits) - zero) * e->scales[at * l->blocks + block];
    }
}

/* ---- Experts ------------------------------------------------------------------------------------------------------ */

static enum ox_status multiply(struct ox_run *r, const struct moe *m, bool second, size_t at,
                               size_t rows, const double *in, double *out, struct ox_error *err)
{
    const struct ox_moe_layer *l = second ? &m->in.second : &m->in.first;
    const double *bias = m->bias[second];
    struct expert expert = {l, m->scales[second], at, m->weights};
    ox_parallel(r->env, l->n_out, row_task, &expert);
    const struct ox_product p = {.dtype = OX_FLOAT64,
                                 .m = rows,
                                 .n = l->n_out,
                                 .k = l->n_in,
                                 .a = in,
                                 .a_row = l->n_in,
                                 .a_col = 1,
                                 .b = m->weights,
                                 .b_row = 1,
                                 .b_col = l->n_in,
                                 .c = out,
                                 .ldc = l->n_out,
                                 .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    for (size_t i = 0; bias && i < rows * l->n_out; i++)
        out[i] += bias[at * l->n_out + i % l->n_out];
    return OX_OK;
}

/* In place: rows of 2 * inter become rows of inter. */
static void apply_swiglu(const struct ox_moe *m, double *h, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        const double *in = h + row * 2 * m->inter;
        for (size_t i = 0; i < m->inter; i++) {
            double gate = in[m->interleaved ? 2 * i : i];
            double linear = in[m->interleaved ? 2 * i + 1 : m->inter + i];
            gate = m->limits_late ? gate : fmin(gate, m->limit);
            gate = gate / (1 + exp(-m->alpha * gate));
            gate = m->limits_late ? fmin(gate, m->limit) : gate;
            linear = fmax(fmin(linear, m->limit), -m->limit);
            h[row * m->inter + i] = gate * (linear + m->beta);
        }
    }
}

static void activate(const struct ox_moe *m, double *h, size_t rows)
{
    static const enum ox_fused known[] = {[OX_MOE_NONE] = OX_FUSED_NONE,
                                          [OX_MOE_RELU] = OX_FUSED_RELU,
                                          [OX_MOE_GELU] = OX_FUSED_FAST_GELU,
                                          [OX_MOE_SILU] = OX_FUSED_QUICK_GELU};
    if (m->activation == OX_MOE_SWIGLU)
        apply_swiglu(m, h, rows);
    else
        ox_fused_apply(known[m->activation], (const double[]){1, 0}, h, rows * m->inter);
}

/* The tokens of an expert through it, added to `sum`. */
static enum ox_status run_expert(struct ox_run *r, const struct moe *all, size_t e, const double *x,
                                 double *sum, struct ox_error *err)
{
    const struct ox_moe *m = &all->in;
    size_t rows = 0;
    for (size_t i = 0; i < m->tokens * m->k; i++)
        if (ox_moe_goes_to(m, i, e)) {
            memcpy(all->x + rows * m->hidden, x + i / m->k * m->hidden, m->hidden * sizeof *x);
            all->rows[rows++] = i;
        }
    if (!rows)
        return OX_OK;
    OX_TRY(multiply(r, all, false, e, rows, all->x, all->h, err));
    activate(m, all->h, rows);
    OX_TRY(multiply(r, all, true, e, rows, all->h, all->y, err));
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < m->hidden; i++)
            sum[all->rows[row] / m->k * m->hidden + i] +=
                m->share[all->rows[row]] * all->y[row * m->hidden + i];
    return ox_env_poll(r->env, err);
}

static enum ox_status run_experts(struct ox_run *r, bool codes, struct ox_error *err)
{
    struct moe all = {.weights = NULL};
    const struct ox_moe *m = &all.in;
    const struct ox_tensor *in = ox_run_in(r, 0);
    const double *x;
    size_t n_h;
    OX_TRY(ox_moe_open(r, codes, &all.in, err));
    const size_t n_first = m->first.n_out * m->first.n_in,
                 n_second = m->second.n_out * m->second.n_in;
    if (OX_MUL_OVERFLOWS(m->tokens, m->first.n_out, &n_h))
        return ox_run_fail(r, err, OX_LIMIT, "too many tokens");
    for (size_t i = 0; i < 2; i++) {
        OX_TRY(ox_real_in(r, codes ? 4 + 3 * i : 3 + 2 * i, &all.bias[i], err));
        if (codes)
            OX_TRY(ox_real_in(r, 3 + 3 * i, &all.scales[i], err));
    }
    OX_TRY(ox_real_in(r, 0, &x, err));
    all.weights = ox_real_scratch(r, n_first > n_second ? n_first : n_second, err);
    all.rows = ox_run_scratch(r, m->tokens, sizeof *all.rows, err);
    all.x = ox_real_scratch(r, in->n, err);
    all.h = ox_real_scratch(r, n_h, err);
    all.y = ox_real_scratch(r, in->n, err);
    double *sum = ox_real_scratch(r, in->n, err);
    if (!all.weights || !all.rows || !all.x || !all.h || !all.y || !sum)
        return OX_NO_MEMORY;
    for (size_t e = 0; e < m->first.count; e++)
        OX_TRY(run_expert(r, &all, e, x, sum, err));
    return ox_real_out(r, 0, in->dtype, in->rank, in->dims, sum, err);
}

static enum ox_status run_moe(struct ox_run *r, struct ox_error *err)
{
    return run_experts(r, false, err);
}

static enum ox_status run_qmoe(struct ox_run *r, struct ox_error *err)
{
    return run_experts(r, true, err);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_moe[] = {
    {MS, "MoE", 1, .infer = ox_rule_same, .run = run_moe, .fast = ox_fast_moe},
    {MS, "QMoE", 1, .infer = ox_rule_same, .run = run_qmoe, .fast = ox_fast_qmoe},
    {0}};
