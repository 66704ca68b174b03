#include "ops/rnn/rnn_steps.h"

#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"

enum {
    BLOCK = OX_FIXED24_PANEL, /* rows of recurrent weights */
    ROWS = 4                  /* of the batch at once: what `dots` takes */
};

static bool find_function(const struct ox_activation *f, struct ox_rnn_function *out)
{
    static const struct {
        enum ox_activation_kind kind;
        enum ox_unary unary;
    } known[] = {{OX_ACT_RELU, OX_UNARY_CLIP},        {OX_ACT_TANH, OX_UNARY_TANH},
                 {OX_ACT_SIGMOID, OX_UNARY_SIGMOID},  {OX_ACT_AFFINE, OX_UNARY_AFFINE},
                 {OX_ACT_LEAKY_RELU, OX_UNARY_LEAKY}, {OX_ACT_HARD_SIGMOID, OX_UNARY_HARD_SIGMOID},
                 {OX_ACT_ELU, OX_UNARY_ELU},          {OX_ACT_SOFTSIGN, OX_UNARY_SOFTSIGN},
                 {OX_ACT_SOFTPLUS, OX_UNARY_SOFTPLUS}};
    for (size_t i = 0; i < OX_COUNT(known); i++) {
        if (known[i].kind != f->kind)
            continue;
        *out = (struct ox_rnn_function){ox_fast_rows()->unary[known[i].unary], (float)f->alpha,
                                        (float)f->beta};
        if (f->kind == OX_ACT_RELU)
            out->b = INFINITY;
        return true;
    }
    return false;
}

bool ox_rnn_find_functions(const struct ox_rnn *rnn, struct ox_rnn_direction d[2])
{
    const size_t n = rnn->kind == OX_RNN_LSTM ? 3 : rnn->kind == OX_RNN_GRU ? 2 : 1;
    for (size_t i = 0; i < rnn->directions * n; i++)
        if (!find_function(&rnn->functions[i / n][i % n], &d[i / n].f[i % n]))
            return false;
    return true;
}

/* ---- The product with the state ---------------------------------------------------------------------------------- */

size_t ox_rnn_part_rows(const struct ox_rnn *rnn, size_t which)
{
    const size_t gates = ox_rnn_gates(rnn->kind);
    return rnn->kind == OX_RNN_GRU ? (which ? 1 : 2) * rnn->hidden
                                   : (which ? 0 : gates) * rnn->hidden;
}

struct product {
    const struct ox_rnn_direction *d;
    const float *state;
    const float *weights;           /* rows of `hidden` */
    const float *packed;            /* NULL: not */
    const struct ox_fixed24 *fixed; /* NULL: not */
    size_t n;                       /* rows of the weights */
    size_t batch;                   /* those of the state */
    float *out;
    size_t out_row;
};

/* Rows of the next tile, of those that are left. Where one panel is summed at once a last tile of less than FEW rows would wait for
 * its own sums: the others leave it some of theirs. */
static size_t tile_rows(const struct ox_compute *t, size_t left)
{
    enum { FEW = 4 };
    const size_t last = (left - 1) % t->mr + 1;
    return last < FEW && t->wide == t->nr ? ox_even_part(left, t->mr, 1) : ox_least(left, t->mr);
}

/* Columns [at, at + n) of the packed weights. */
static void packed_block(const struct product *p, size_t at, size_t n)
{
    const struct ox_compute *t = p->d->compute;
    const size_t hidden = p->d->rnn->hidden;
    size_t rows;
    for (size_t b = 0; b < p->batch; b += rows) {
        const float *state[OX_TILE_ROWS_MAX];
        rows = tile_rows(t, p->batch - b);
        for (size_t i = 0; i < rows; i++)
            state[i] = p->state + (b + i) * hidden;
        const struct ox_tile tile = {.a = state,
                                     .segments = 1,
                                     .depth = hidden,
                                     .b = p->packed + at * hidden,
                                     .panel = hidden * t->nr,
                                     .c = p->out + b * p->out_row + at,
                                     .ldc = p->out_row,
                                     .cols = n,
                                     .rows = (unsigned)rows};
        t->tile(&tile);
    }
}

static void product_task(void *arg, size_t i, size_t slot)
{
    const struct product *p = arg;
    const struct ox_rnn_direction *d = p->d;
    const size_t hidden = d->rnn->hidden;
    (void)slot;
    size_t at = i * BLOCK;
    size_t n = p->n - at < BLOCK ? p->n - at : BLOCK;
    if (p->fixed) {
        ox_fixed24_kernels(d->compute->level)
            ->multiply(p->fixed, at, n, (unsigned)p->batch, p->state, hidden, p->out + at,
                       p->out_row);
        return;
    }
    if (p->packed) {
        packed_block(p, at, n);
        return;
    }
    for (size_t b = 0; b < p->batch; b += ROWS) {
        const size_t rows = ox_least(ROWS, p->batch - b);
        d->compute->dots(n, hidden, (unsigned)rows, p->state + b * hidden, hidden,
                         p->weights + at * hidden, hidden, p->out + b * p->out_row + at,
                         p->out_row);
    }
}

/* out[going, n] = state[going, hidden] times the n rows of that part of the weights; of 8 bits all of the batch, which has one scale. */
static void multiply(const struct ox_rnn_direction *d, size_t step, const float *state,
                     size_t which, float *out, size_t out_row)
{
    const size_t first = which ? ox_rnn_part_rows(d->rnn, 0) : 0,
                 n = ox_rnn_part_rows(d->rnn, which), going = ox_rnn_going(d->order, d->part, step);
    if (d->bytes) {
        ox_rnn_bytes_multiply(d->bytes, d->env, d->rnn->batch, state, NULL, out, d->bytes_work);
        return;
    }
    struct product p = {.d = d,
                        .state = state,
                        .weights = d->recurrence ? d->recurrence + first * d->rnn->hidden : NULL,
                        .packed = d->packed[which],
                        .fixed = d->fixed ? &d->fixed[which] : NULL,
                        .n = n,
                        .batch = going,
                        .out = out,
                        .out_row = out_row};
    double flops = 2.0 * (double)n * (double)d->rnn->hidden * (double)going;
    /* The last weights that a step read are the first of the next. */
    (step % 2 ? ox_spread_sums_back : ox_spread_sums)(
        d->env, (n - 1) / BLOCK + 1, flops * (going < ROWS ? OX_RNN_WAITS : 1), product_task, &p);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void activate(const struct ox_rnn_direction *d, size_t f, float *x, size_t n)
{
    float clip = (float)d->rnn->clip;
    if (clip > 0)
        d->rows->unary[OX_UNARY_CLIP](n, x, x, -clip, clip);
    d->f[f].unary(n, x, x, d->f[f].a, d->f[f].b);
}

static void add(const struct ox_rnn_direction *d, size_t n, float *a, const float *b)
{
    d->rows->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, a, b, a);
}

static void times(const struct ox_rnn_direction *d, size_t n, const float *a, const float *b,
                  float *y)
{
    d->rows->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, a, b, y);
}

/* Of a sequence of the part. */
static size_t time_of(const struct ox_rnn_direction *d, size_t b, size_t s)
{
    return d->backward ? d->order->length[d->first + b] - 1 - s : s;
}

/* What follows a product, of each sequence that goes on: threads that are awake take part. */
struct rest {
    const struct ox_rnn_direction *d;
    size_t step;
};

static void each_sequence(const struct ox_rnn_direction *d, size_t step,
                          void (*task)(void *, size_t))
{
    struct rest rest = {d, step};
    ox_parallel_awake(d->env, ox_rnn_going(d->order, d->part, step), task, &rest);
}

/* What the input adds to the gates of a sequence. */
static const float *input_of(const struct rest *rest, size_t b)
{
    const struct ox_rnn_direction *d = rest->d;
    const struct ox_rnn *rnn = d->rnn;
    const struct ox_rnn_order *order = d->order;
    const size_t t = time_of(d, b, rest->step);
    const size_t row = order->gathered ? order->before[t] + b * order->parts + d->part
                                       : t * rnn->batch + order->place[d->first + b];
    return d->from_input + row * ox_rnn_gates(rnn->kind) * rnn->hidden;
}

/* a += peephole * c */
static void peep(const struct ox_rnn_direction *d, size_t n, float *a, const float *peephole,
                 const float *c, float *spare)
{
    times(d, n, peephole, c, spare);
    add(d, n, a, spare);
}

/* gate: i, o, f, c, in their order */
static void step_lstm(const struct ox_rnn_direction *d, float *gate, float *h, float *c,
                      float *spare)
{
    const size_t n = d->rnn->hidden, *at = d->rnn->gate_at;
    float *i = gate + at[0] * n, *o = gate + at[1] * n, *f = gate + at[2] * n,
          *g = gate + at[3] * n;
    if (d->peephole) {
        peep(d, n, i, d->peephole, c, spare);
        peep(d, n, f, d->peephole + 2 * n, c, spare);
    }
    activate(d, 0, i, n);
    activate(d, 1, g, n);
    if (d->rnn->input_forget)
        d->rows->unary[OX_UNARY_AFFINE](n, i, f, -1, 1);
    else
        activate(d, 0, f, n);
    times(d, n, f, c, c);
    times(d, n, i, g, g);
    add(d, n, c, g);
    if (d->peephole)
        peep(d, n, o, d->peephole + n, c, spare);
    activate(d, 0, o, n);
    memcpy(h, c, n * sizeof *h);
    activate(d, 2, h, n);
    times(d, n, h, o, h);
}

static void end_other(void *arg, size_t b)
{
    const struct ox_rnn_direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = ox_rnn_gates(rnn->kind) * n;
    float *gate = d->gates + b * g;
    add(d, g, gate, input);
    if (rnn->kind == OX_RNN_LSTM) {
        step_lstm(d, gate, d->h + b * n, d->c + b * n, d->spare + b * n);
    } else {
        activate(d, 0, gate, n);
        memcpy(d->h + b * n, gate, n * sizeof *gate);
    }
}

static void step_other(const struct ox_rnn_direction *d, size_t s)
{
    multiply(d, s, d->h, 0, d->gates, ox_rnn_gates(d->rnn->kind) * d->rnn->hidden);
    each_sequence(d, s, end_other);
}

/* gate: z and r in their order, h. The reset gate is applied before the hidden gate's product, or after it when linear_before_reset. */
static void begin_gru(void *arg, size_t b)
{
    const struct ox_rnn_direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = 3 * n, both = 2 * n;
    float *gate = d->gates + b * g;
    add(d, both, gate, input);
    activate(d, 0, gate, both);
    if (!rnn->linear_before_reset)
        times(d, n, gate + rnn->gate_at[1] * n, d->h + b * n, d->reset + b * n);
}

static void end_gru(void *arg, size_t b)
{
    const struct ox_rnn_direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = 3 * n, both = 2 * n;
    float *gate = d->gates + b * g, *next = d->candidate + b * n, *h = d->h + b * n;
    const float *z = gate + rnn->gate_at[0] * n, *reset = gate + rnn->gate_at[1] * n;
    if (rnn->linear_before_reset) {
        if (d->bias)
            add(d, n, gate + both, d->bias + g + both);
        times(d, n, reset, gate + both, next);
    }
    add(d, n, next, input + both);
    activate(d, 1, next, n);
    for (size_t k = 0; k < n; k++)
        h[k] = (1 - z[k]) * next[k] + z[k] * h[k];
}

static void step_gru(const struct ox_rnn_direction *d, size_t s)
{
    const size_t n = d->rnn->hidden, g = 3 * n;
    multiply(d, s, d->h, 0, d->gates, g);
    if (d->rnn->linear_before_reset)
        multiply(d, s, d->h, 1, d->gates + 2 * n, g);
    each_sequence(d, s, begin_gru);
    if (!d->rnn->linear_before_reset)
        multiply(d, s, d->reset, 1, d->candidate, n);
    each_sequence(d, s, end_gru);
}

struct ox_rnn_direction ox_rnn_part_of(const struct ox_rnn_direction *d, size_t part)
{
    struct ox_rnn_direction out = *d;
    const size_t first = ox_rnn_part_first(d->order, part), cells = first * d->rnn->hidden;
    out.part = part;
    out.first = first;
    out.h += cells;
    out.c += cells;
    out.reset += cells;
    out.candidate += cells;
    out.spare += cells;
    out.gates += ox_rnn_gates(d->rnn->kind) * cells;
    return out;
}

void ox_rnn_run_direction(void *directions, size_t which, size_t slot)
{
    const struct ox_rnn_direction *d = (const struct ox_rnn_direction *)directions + which;
    const struct ox_rnn *rnn = d->rnn;
    const size_t n = rnn->hidden, longest = d->order->length[d->first];
    (void)slot;
    for (size_t s = 0; s < longest; s++) {
        if (rnn->kind == OX_RNN_GRU)
            step_gru(d, s);
        else
            step_other(d, s);
        for (size_t b = 0; d->y && b < ox_rnn_going(d->order, d->part, s); b++) {
            const size_t row = (time_of(d, b, s) * rnn->directions + d->which) * rnn->batch;
            memcpy(d->y + (row + d->order->place[d->first + b]) * n, d->h + b * n,
                   n * sizeof *d->h);
        }
    }
}
