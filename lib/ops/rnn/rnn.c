/* RNN, GRU, LSTM. All in double; the products with the input run for all steps at once, those with the state step by step. */
#include "ops/rnn/rnn.h"

#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"
#include "ops/saturated.h"

static double activate(const struct ox_activation *f, double x)
{
    switch (f->kind) {
    case OX_ACT_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case OX_ACT_TANH:
        return tanh(x);
    case OX_ACT_SIGMOID:
        return ox_sigmoid(x);
    case OX_ACT_AFFINE:
        return f->alpha * x + f->beta;
    case OX_ACT_LEAKY_RELU:
        return x >= 0 ? x : f->alpha * x;
    case OX_ACT_THRESHOLDED_RELU:
        return x >= f->alpha ? x : 0;
    case OX_ACT_SCALED_TANH:
        return f->alpha * tanh(f->beta * x);
    case OX_ACT_HARD_SIGMOID:
        return fmin(fmax(f->alpha * x + f->beta, 0), 1);
    case OX_ACT_ELU:
        return x >= 0 ? x : f->alpha * expm1(x);
    case OX_ACT_SOFTSIGN:
        return x / (1 + fabs(x));
    default:
        return ox_softplus(x);
    }
}

/* In place; a clip above 0 bounds the input first. */
static void activate_row(const struct ox_activation *f, double clip, double *x, size_t n)
{
    if (clip > 0)
        for (size_t i = 0; i < n; i++)
            x[i] = fmin(fmax(x[i], -clip), clip);
    for (size_t i = 0; i < n; i++)
        x[i] = activate(f, x[i]);
}

/* ---- One direction ----------------------------------------------------------------------------------------------- */

/* The numbers of one direction; states are [batch, hidden]. */
struct direction {
    const struct ox_rnn *rnn;
    const struct ox_activation *f;
    const double *recurrence, *bias, *peephole; /* bias, peephole: NULL for none */
    const double *from_input;                   /* [steps, batch, gates * hidden], biases in it */
    double *h, *c, *gates, *reset, *candidate;
    const struct ox_tensor *lens;
    size_t which;
    uint8_t *codes; /* of the state, where products saturate; else NULL */
    bool backward;
};

static enum ox_status multiply(struct ox_run *r, size_t m, size_t n, size_t k, const double *a,
                               const double *weights, double *c, size_t ldc, struct ox_error *err)
{
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = m,
                           .n = n,
                           .k = k,
                           .a = a,
                           .a_row = k,
                           .a_col = 1,
                           .b = weights,
                           .b_row = 1,
                           .b_col = k,
                           .c = c,
                           .ldc = ldc,
                           .batches = 1};
    return ox_product_run(r, &p, err);
}

/* What saturation does to products c by the weights that input i has as codes, of direction `which`. */
static enum ox_status saturate(struct ox_run *r, size_t i, size_t which, size_t rows,
                               const uint8_t *codes, double scale, double *c, struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, i), *by = ox_run_in(r, i + 1);
    const size_t depth = (size_t)w->dims[1], width = (size_t)w->dims[2];
    const size_t step = by->n == (size_t)w->dims[0] ? 0 : 1;
    const double *scales;
    OX_TRY(ox_real_in(r, i + 1, &scales, err));
    ox_saturate(&(struct ox_saturated){rows, width, depth, codes,
                                       (const int8_t *)w->data + which * depth * width},
                scale, scales + which * (step ? width : 1), step, c);
    return OX_OK;
}

/* a += b */
static void accumulate(double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] += b[i];
}

static void step_rnn(const struct direction *d, double *gate, double *h)
{
    activate_row(&d->f[0], d->rnn->clip, gate, d->rnn->hidden);
    memcpy(h, gate, d->rnn->hidden * sizeof *h);
}

/* gate: i, o, f, c */
static void step_lstm(const struct direction *d, double *gate, double *h, double *c)
{
    size_t n = d->rnn->hidden;
    double clip = d->rnn->clip, *i = gate, *o = gate + n, *f = o + n, *g = f + n;
    const double *p = d->peephole;
    for (size_t k = 0; p && k < n; k++) {
        i[k] += p[k] * c[k];
        f[k] += p[2 * n + k] * c[k];
    }
    activate_row(&d->f[0], clip, i, n);
    activate_row(&d->f[1], clip, g, n);
    if (d->rnn->input_forget)
        for (size_t k = 0; k < n; k++)
            f[k] = 1 - i[k];
    else
        activate_row(&d->f[0], clip, f, n);
    for (size_t k = 0; k < n; k++)
        c[k] = f[k] * c[k] + i[k] * g[k];
    for (size_t k = 0; p && k < n; k++)
        o[k] += p[n + k] * c[k];
    activate_row(&d->f[0], clip, o, n);
    memcpy(h, c, n * sizeof *h);
    activate_row(&d->f[2], clip, h, n);
    for (size_t k = 0; k < n; k++)
        h[k] *= o[k];
}

/* Position in time of step s of a sequence. */
static size_t time_of(const struct direction *d, size_t length, size_t s)
{
    return d->backward ? length - 1 - s : s;
}

static size_t length_of(const struct direction *d, size_t b)
{
    return d->lens ? (size_t)ox_tensor_get_int(d->lens, b) : d->rnn->steps;
}

/* gate: z, r, h. The reset gate is applied before the hidden gate's product, or after it when linear_before_reset. */
static enum ox_status step_gru(struct ox_run *r, const struct direction *d, size_t s,
                               struct ox_error *err)
{
    const struct ox_rnn *rnn = d->rnn;
    size_t n = rnn->hidden, g = 3 * n, ng = 2 * n;
    OX_TRY(multiply(r, rnn->batch, rnn->linear_before_reset ? g : ng, n, d->h, d->recurrence,
                    d->gates, g, err));
    for (size_t b = 0; b < rnn->batch; b++) {
        size_t length = length_of(d, b);
        if (s >= length)
            continue;
        double *gate = d->gates + b * g;
        const double *input = d->from_input + (time_of(d, length, s) * rnn->batch + b) * g;
        accumulate(gate, input, ng);
        activate_row(&d->f[0], rnn->clip, gate, ng);
        for (size_t k = 0; k < n && !rnn->linear_before_reset; k++)
            d->reset[b * n + k] = gate[n + k] * d->h[b * n + k];
    }
    if (!rnn->linear_before_reset)
        OX_TRY(
            multiply(r, rnn->batch, n, n, d->reset, d->recurrence + ng * n, d->candidate, n, err));
    for (size_t b = 0; b < rnn->batch; b++) {
        size_t length = length_of(d, b);
        if (s >= length)
            continue;
        double *gate = d->gates + b * g, *next = d->candidate + b * n, *h = d->h + b * n;
        const double *input = d->from_input + (time_of(d, length, s) * rnn->batch + b) * g + ng;
        for (size_t k = 0; k < n && rnn->linear_before_reset; k++)
            next[k] = gate[n + k] * (gate[ng + k] + (d->bias ? d->bias[g + ng + k] : 0));
        accumulate(next, input, n);
        activate_row(&d->f[1], rnn->clip, next, n);
        for (size_t k = 0; k < n; k++)
            h[k] = (1 - gate[k]) * next[k] + gate[k] * h[k];
    }
    return OX_OK;
}

static enum ox_status step_other(struct ox_run *r, const struct direction *d, size_t s,
                                 struct ox_error *err)
{
    const struct ox_rnn *rnn = d->rnn;
    size_t n = rnn->hidden, g = ox_rnn_gates(rnn->kind) * n;
    const double *state = d->h;
    double scale = 1;
    if (rnn->round_state && n) {
        memcpy(d->candidate, d->h, rnn->batch * n * sizeof *d->h);
        scale = ox_round_dynamic(d->candidate, rnn->batch * n, d->codes);
        state = d->candidate;
    }
    OX_TRY(multiply(r, rnn->batch, g, n, state, d->recurrence, d->gates, g, err));
    if (d->codes)
        OX_TRY(saturate(r, OX_RNN_R, d->which, rnn->batch, d->codes, scale, d->gates, err));
    for (size_t b = 0; b < rnn->batch; b++) {
        size_t length = length_of(d, b);
        if (s >= length)
            continue;
        double *gate = d->gates + b * g;
        accumulate(gate, d->from_input + (time_of(d, length, s) * rnn->batch + b) * g, g);
        if (rnn->kind == OX_RNN_LSTM)
            step_lstm(d, gate, d->h + b * n, d->c + b * n);
        else
            step_rnn(d, gate, d->h + b * n);
    }
    return OX_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

struct sequences {
    const double *x; /* [steps, batch, input] */
    const double *w, *recurrence, *bias, *h0, *c0, *peephole;
    double *y, *y_h, *y_c; /* in the layout of the outputs */
};

/* X in the order of time, whatever its layout. */
static const double *by_time(struct ox_run *r, const struct ox_rnn *rnn, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const double *all = ox_real_all(r, x, err);
    if (!rnn->layout || !all)
        return all;
    double *out = ox_real_scratch(r, x->n, err);
    for (size_t t = 0; out && t < rnn->steps; t++)
        for (size_t b = 0; b < rnn->batch; b++)
            memcpy(out + (t * rnn->batch + b) * rnn->input, all + (b * rnn->steps + t) * rnn->input,
                   rnn->input * sizeof *out);
    return out;
}

/* Products of the inputs of all steps, with the biases that can be added in advance. */
static enum ox_status from_input(struct ox_run *r, const struct ox_rnn *rnn,
                                 const struct sequences *q, size_t which, double *out,
                                 struct ox_error *err)
{
    size_t g = ox_rnn_gates(rnn->kind) * rnn->hidden, rows = rnn->steps * rnn->batch;
    /* Without rows the weights may be gone: the fast kernels had packed them. */
    const double *w = q->w ? q->w + which * g * rnn->input : NULL;
    OX_TRY(multiply(r, rows, g, rnn->input, q->x, w, out, g, err));
    if (ox_run_has(r, OX_RNN_CODES))
        OX_TRY(saturate(r, OX_RNN_W, which, rows, ox_run_in(r, OX_RNN_CODES)->data,
                        ox_real_scalar(r, OX_RNN_CODES_SCALE, 1), out, err));
    if (!q->bias)
        return OX_OK;
    const double *bias = q->bias + which * 2 * g;
    bool apart = rnn->kind == OX_RNN_GRU && rnn->linear_before_reset;
    size_t both = apart ? 2 * rnn->hidden : g;
    for (size_t i = 0; i < rows; i++) {
        accumulate(out + i * g, bias, g);
        accumulate(out + i * g, bias + g, both);
    }
    return OX_OK;
}

/* Where the state of sequence b in direction `which` begins in the layout of initial_h and Y_h. */
static size_t state_at(const struct ox_rnn *rnn, size_t which, size_t b)
{
    size_t row = rnn->layout ? b * rnn->directions + which : which * rnn->batch + b;
    return row * rnn->hidden;
}

static void load_state(const struct ox_rnn *rnn, const double *all, size_t which, double *state)
{
    for (size_t b = 0; all && b < rnn->batch; b++)
        memcpy(state + b * rnn->hidden, all + state_at(rnn, which, b), rnn->hidden * sizeof *state);
}

static enum ox_status run_direction(struct ox_run *r, const struct ox_rnn *rnn,
                                    const struct sequences *q, size_t which, struct ox_error *err)
{
    size_t n = rnn->hidden, g = ox_rnn_gates(rnn->kind) * n, cells = rnn->batch * n;
    struct direction d = {.rnn = rnn,
                          .f = rnn->functions[which],
                          .recurrence = q->recurrence + which * g * n,
                          .bias = q->bias ? q->bias + which * 2 * g : NULL,
                          .peephole = q->peephole ? q->peephole + which * 3 * n : NULL,
                          .lens = ox_run_in(r, 4),
                          .which = which,
                          .backward = rnn->reverse || which == 1};
    double *input = ox_real_scratch(r, rnn->steps * rnn->batch * g, err);
    double *cell = input ? ox_real_scratch(r, 4 * cells, err) : NULL;
    d.gates = cell ? ox_real_scratch(r, rnn->batch * g, err) : NULL;
    if (!d.gates)
        return OX_NO_MEMORY;
    if (ox_run_has(r, OX_RNN_CODES) && cells &&
        !(d.codes = ox_run_scratch(r, cells, sizeof *d.codes, err)))
        return OX_NO_MEMORY;
    d.from_input = input;
    d.h = cell;
    d.c = cell + cells;
    d.reset = cell + 2 * cells;
    d.candidate = cell + 3 * cells;
    load_state(rnn, q->h0, which, d.h);
    load_state(rnn, q->c0, which, d.c);
    OX_TRY(from_input(r, rnn, q, which, input, err));
    for (size_t s = 0; s < rnn->steps; s++) {
        OX_TRY((rnn->kind == OX_RNN_GRU ? step_gru : step_other)(r, &d, s, err));
        for (size_t b = 0; q->y && b < rnn->batch; b++) {
            size_t length = length_of(&d, b);
            if (s >= length)
                continue;
            size_t t = time_of(&d, length, s), lines = rnn->directions;
            size_t at = rnn->layout ? (b * rnn->steps + t) * lines + which
                                    : (t * lines + which) * rnn->batch + b;
            memcpy(q->y + at * n, d.h + b * n, n * sizeof *d.h);
        }
    }
    for (size_t b = 0; b < rnn->batch; b++) {
        if (q->y_h)
            memcpy(q->y_h + state_at(rnn, which, b), d.h + b * n, n * sizeof *d.h);
        if (q->y_c)
            memcpy(q->y_c + state_at(rnn, which, b), d.c + b * n, n * sizeof *d.c);
    }
    return OX_OK;
}

static enum ox_status run_rnn_kind(struct ox_run *r, enum ox_rnn_kind kind, struct ox_error *err)
{
    struct ox_rnn rnn;
    struct sequences q = {0};
    OX_TRY(ox_rnn_read(r, kind, &rnn, err));
    OX_TRY(ox_real_in(r, 1, &q.w, err));
    OX_TRY(ox_real_in(r, 2, &q.recurrence, err));
    OX_TRY(ox_real_in(r, 3, &q.bias, err));
    OX_TRY(ox_real_in(r, 5, &q.h0, err));
    if (kind == OX_RNN_LSTM) {
        OX_TRY(ox_real_in(r, 6, &q.c0, err));
        OX_TRY(ox_real_in(r, 7, &q.peephole, err));
    }
    q.x = by_time(r, &rnn, err);
    if (!q.x && ox_run_in(r, 0)->n)
        return OX_NO_MEMORY;
    int64_t t = (int64_t)rnn.steps, b = (int64_t)rnn.batch, d = (int64_t)rnn.directions,
            h = (int64_t)rnn.hidden;
    int64_t y_dims[4] = {t, d, b, h}, y_dims_batch[4] = {b, t, d, h};
    int64_t state_dims[3] = {rnn.layout ? b : d, rnn.layout ? d : b, h};
    size_t n_y, n_state;
    if (!ox_dims_count(4, y_dims, &n_y) || !ox_dims_count(3, state_dims, &n_state))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    if ((ox_run_wants(r, 0) && !(q.y = ox_real_scratch(r, n_y, err))) ||
        (ox_run_wants(r, 1) && !(q.y_h = ox_real_scratch(r, n_state, err))) ||
        (kind == OX_RNN_LSTM && ox_run_wants(r, 2) && !(q.y_c = ox_real_scratch(r, n_state, err))))
        return OX_NO_MEMORY;
    for (size_t which = 0; which < rnn.directions; which++)
        OX_TRY(run_direction(r, &rnn, &q, which, err));
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;
    if (q.y)
        OX_TRY(ox_real_out(r, 0, dtype, 4, rnn.layout ? y_dims_batch : y_dims, q.y, err));
    if (q.y_h)
        OX_TRY(ox_real_out(r, 1, dtype, 3, state_dims, q.y_h, err));
    return q.y_c ? ox_real_out(r, 2, dtype, 3, state_dims, q.y_c, err) : OX_OK;
}

static enum ox_status run_rnn(struct ox_run *r, struct ox_error *err)
{
    return run_rnn_kind(r, OX_RNN_PLAIN, err);
}

static enum ox_status run_gru(struct ox_run *r, struct ox_error *err)
{
    return run_rnn_kind(r, OX_RNN_GRU, err);
}

static enum ox_status run_lstm(struct ox_run *r, struct ox_error *err)
{
    return run_rnn_kind(r, OX_RNN_LSTM, err);
}

static void infer_rnn(struct ox_infer *c)
{
    if (!ox_rule_rank(c, 0, 3))
        return;
    const char *direction = ox_infer_string_attr(c, "direction");
    const struct ox_expr *n =
        ox_infer_num(c, direction && !strcmp(direction, "bidirectional") ? 2 : 1);
    int64_t size = ox_infer_int_attr(c, "hidden_size", -1);
    const struct ox_expr *hidden = size > 0 ? ox_infer_num(c, size) : ox_infer_dim(c, 2, 2);
    bool layout = ox_infer_int_attr(c, "layout", 0) != 0;
    const struct ox_expr *steps = ox_infer_dim(c, 0, layout ? 1 : 0);
    const struct ox_expr *batch = ox_infer_dim(c, 0, layout ? 0 : 1);
    const struct ox_expr *y[4] = {steps, n, batch, hidden}, *y_batch[4] = {batch, steps, n, hidden};
    const struct ox_expr *state[3] = {layout ? batch : n, layout ? n : batch, hidden};
    ox_infer_set_shape(c, 0, 4, layout ? y_batch : y);
    for (size_t i = 1; i < ox_infer_n_out(c); i++)
        ox_infer_set_shape(c, i, 3, state);
}

#define RECURRENT(name, since, kernel)                                                             \
    {                                                                                              \
        "", name, since, OX_OP_ANY_ADDRESS, .infer = infer_rnn, .run = kernel,                     \
                                            .fast = ox_fast_rnn, .prepare = ox_prepare_rnn         \
    }

const struct ox_op ox_ops_rnn[] = {RECURRENT("RNN", 1, run_rnn),    RECURRENT("RNN", 7, run_rnn),
                                   RECURRENT("RNN", 14, run_rnn),   RECURRENT("RNN", 22, run_rnn),
                                   RECURRENT("GRU", 1, run_gru),    RECURRENT("GRU", 3, run_gru),
                                   RECURRENT("GRU", 7, run_gru),    RECURRENT("GRU", 14, run_gru),
                                   RECURRENT("GRU", 22, run_gru),   RECURRENT("LSTM", 1, run_lstm),
                                   RECURRENT("LSTM", 7, run_lstm),  RECURRENT("LSTM", 14, run_lstm),
                                   RECURRENT("LSTM", 22, run_lstm), {0}};
