/* MoE and QMoE in float32: an expert's tokens side by side, its weights where they lie; codes are widened as those of MatMulNBits. */
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/contrib/moe.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"

struct work {
    const struct ox_moe *m;
    size_t *rows;      /* choices of the expert whose turn it is */
    float *x, *h, *y;  /* [tokens, hidden], [tokens, first.n_out], [tokens, hidden] */
    float *gates, *up; /* [inter] each */
};

static bool are_floats(const struct ox_moe_layer *l)
{
    return (l->bits || l->weights->dtype == OX_FLOAT32) &&
           (!l->bias || l->bias->dtype == OX_FLOAT32) &&
           (!l->bits || (l->scales->dtype == OX_FLOAT32 && (!l->zeros || l->by_row)));
}

/* out [rows, n_out] = in by the weights of expert e, and its bias. */
static enum ox_status multiply(struct ox_run *r, const struct ox_moe_layer *l, size_t e,
                               size_t rows, const float *in, float *out, struct ox_error *err)
{
    const size_t at = e * l->n_out;
    const float *bias = l->bias ? (const float *)l->bias->data + at : NULL;
    enum ox_status status;
    if (l->bits) {
        const struct ox_bits_product p = {
            .w = {.k = l->n_in,
                  .block = l->block,
                  .blocks = l->blocks,
                  .bits = (unsigned)l->bits,
                  .codes = (const uint8_t *)l->weights->data + at * (l->n_in * l->bits / 8),
                  .scales = (const float *)l->scales->data + at * l->blocks,
                  .zeros = l->zeros ? l->zeros + at * l->zero_bytes : NULL,
                  .zero_bytes = l->zero_bytes},
            .m = rows,
            .n = l->n_out,
            .a = in,
            .bias = bias,
            .y = out};
        status = ox_bits_multiply(r, &p, err);
    } else {
        const struct ox_dense d = {.m = rows,
                                   .n = l->n_out,
                                   .k = l->n_in,
                                   .a = in,
                                   .a_row = l->n_in,
                                   .a_col = 1,
                                   .b = (const float *)l->weights->data + at * l->n_in,
                                   .b_row = 1,
                                   .b_col = l->n_in,
                                   .c = out,
                                   .c_row = l->n_out,
                                   .end = {.scale = 1, .col_bias = bias}};
        status = ox_fast_product(r, &d, err);
    }
    ox_run_release_work(r);
    return status;
}

/* In place: a row of 2 * inter becomes one of inter. */
static void apply_swiglu(const struct work *w, const float *in, float *out)
{
    const struct ox_moe *m = w->m;
    const struct ox_rows *t = ox_fast_rows();
    const float limit = (float)m->limit, beta = (float)m->beta;
    const float early = m->limits_late ? INFINITY : limit;
    for (size_t i = 0; i < m->inter; i++) {
        w->gates[i] = fminf(in[m->interleaved ? 2 * i : i], early);
        const float up = in[m->interleaved ? 2 * i + 1 : m->inter + i];
        w->up[i] = fmaxf(fminf(up, limit), -limit) + beta;
    }
    t->unary[OX_UNARY_SWISH](m->inter, w->gates, w->gates, (float)m->alpha, 0);
    for (size_t i = 0; m->limits_late && i < m->inter; i++)
        w->gates[i] = fminf(w->gates[i], limit);
    t->binary[OX_BINARY_MUL][OX_ROW_BOTH](m->inter, w->gates, w->up, out);
}

static void activate(const struct work *w, size_t rows)
{
    const struct ox_rows *t = ox_fast_rows();
    const size_t n = rows * w->m->inter;
    switch (w->m->activation) {
    case OX_MOE_RELU:
        t->unary[OX_UNARY_CLIP](n, w->h, w->h, 0, INFINITY);
        break;
    case OX_MOE_GELU:
        t->unary[OX_UNARY_GELU_TANH](n, w->h, w->h, 0, 0);
        break;
    case OX_MOE_SILU:
        t->unary[OX_UNARY_SWISH](n, w->h, w->h, 1, 0);
        break;
    case OX_MOE_SWIGLU:
        for (size_t row = 0; row < rows; row++)
            apply_swiglu(w, w->h + row * 2 * w->m->inter, w->h + row * w->m->inter);
        break;
    case OX_MOE_NONE:
        break;
    }
}

/* The tokens of an expert through it, added to `sum`. */
static enum ox_status run_expert(struct ox_run *r, const struct work *w, size_t e, const float *x,
                                 float *sum, struct ox_error *err)
{
    const struct ox_moe *m = w->m;
    size_t rows = 0;
    for (size_t i = 0; i < m->tokens * m->k; i++) {
        if (!ox_moe_goes_to(m, i, e))
            continue;
        memcpy(w->x + rows * m->hidden, x + i / m->k * m->hidden, m->hidden * sizeof *x);
        w->rows[rows++] = i;
    }
    if (!rows)
        return OX_OK;
    OX_TRY(multiply(r, &m->first, e, rows, w->x, w->h, err));
    activate(w, rows);
    OX_TRY(multiply(r, &m->second, e, rows, w->h, w->y, err));
    for (size_t row = 0; row < rows; row++)
        ox_fast_rows()->accumulate(m->hidden, (float)m->share[w->rows[row]], w->y + row * m->hidden,
                                   sum + w->rows[row] / m->k * m->hidden);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_experts(struct ox_run *r, bool codes, struct ox_error *err)
{
    struct ox_moe m;
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct ox_tensor *y;
    size_t n_h;
    if (!x)
        return OX_UNSUPPORTED;
    OX_TRY(ox_moe_open(r, codes, &m, err));
    if (!are_floats(&m.first) || !are_floats(&m.second) ||
        OX_MUL_OVERFLOWS(m.tokens, m.first.n_out, &n_h))
        return OX_UNSUPPORTED;
    struct work w = {.m = &m, .rows = ox_run_scratch(r, m.tokens, sizeof *w.rows, err)};
    w.x = w.rows ? ox_run_scratch(r, x->n, sizeof *w.x, err) : NULL;
    w.h = w.x ? ox_run_scratch(r, n_h, sizeof *w.h, err) : NULL;
    w.y = w.h ? ox_run_scratch(r, x->n, sizeof *w.y, err) : NULL;
    w.gates = w.y ? ox_run_scratch(r, 2 * m.inter, sizeof *w.gates, err) : NULL;
    if (!w.gates)
        return OX_NO_MEMORY;
    w.up = w.gates + m.inter;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    memset(y->data, 0, x->n * sizeof(float));
    for (size_t e = 0; e < m.first.count; e++)
        OX_TRY(run_expert(r, &w, e, x->data, y->data, err));
    return OX_OK;
}

enum ox_status ox_fast_moe(struct ox_run *r, struct ox_error *err)
{
    return run_experts(r, false, err);
}

enum ox_status ox_fast_qmoe(struct ox_run *r, struct ox_error *err)
{
    return run_experts(r, true, err);
}
