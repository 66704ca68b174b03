/* LSTM, GRU and RNN in float32. The products with the input run for all steps at once; those with the state read the recurrent
 * weights a block of rows at a time, there and back on alternate steps, so that what is still in the cache is used before it goes:
 * for one sequence in 24 bits or where they are, for several packed, which is faster by half. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/dense.h"
#include "kernels/fixed24.h"
#include "ops/fast.h"
#include "ops/rnn.h"
#include "ops/rnn_bytes.h"

static const size_t n_gates[] = {1, 3, 4};

enum {
    BLOCK = OX_FIXED24_PANEL, /* rows of recurrent weights */
    ROWS = 4,                 /* of the batch at once: what `dots` takes */
    WAITS = 4, /* a product with few rows waits for memory this much longer than for arithmetic */
    FIXED_MOST = 2,       /* sequences whose products wait for weights of 24 bits */
    FIXED_LEAST = 1 << 15 /* weights beyond L1 */
};

/* An activation as a row function. */
struct function {
    void (*unary)(size_t n, const float *x, float *y, float a, float b);
    float a, b;
};

static bool find_function(const struct ox_activation *f, struct function *out)
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
        *out = (struct function){ox_fast_rows()->unary[known[i].unary], (float)f->alpha,
                                 (float)f->beta};
        if (f->kind == OX_ACT_RELU)
            out->b = INFINITY;
        return true;
    }
    return false;
}

struct direction {
    const struct ox_rnn *rnn;
    const struct ox_rows *rows;
    const struct ox_compute *compute;
    struct ox_env *env; /* NULL: the directions have a thread each */
    struct function f[3];
    const float *recurrence, *bias, *peephole; /* bias, peephole: NULL for none */
    const float *packed[2];                    /* the recurrence, a part of the gates each; NULL */
    const struct ox_fixed24 *fixed;            /* the same in 24 bits; NULL */
    const struct ox_rnn_bytes *bytes;          /* the recurrence of DynamicQuantizeLSTM; NULL */
    void *bytes_work;
    const float *from_input; /* [steps, batch, gates * hidden], biases in it */
    float *h, *c, *gates, *reset, *candidate, *spare;
    float *y, *y_h, *y_c; /* NULL: not wanted */
    const struct ox_tensor *lens;
    bool backward;
    size_t which;
};

/* ---- The product with the state ---------------------------------------------------------------------------------- */

/* Gates whose products are done together: of GRU the hidden gate may wait for the others. */
static size_t part_rows(const struct ox_rnn *rnn, size_t which)
{
    const size_t gates = n_gates[rnn->kind];
    return rnn->kind == OX_RNN_GRU ? (which ? 1 : 2) * rnn->hidden
                                   : (which ? 0 : gates) * rnn->hidden;
}

struct product {
    const struct direction *d;
    const float *state;
    const float *weights;           /* rows of `hidden` */
    const float *packed;            /* NULL: not */
    const struct ox_fixed24 *fixed; /* NULL: not */
    size_t n;                       /* rows of the weights */
    float *out;
    size_t out_row;
    bool back;
};

/* Columns [at, at + n) of the packed weights. */
static void packed_block(const struct product *p, size_t at, size_t n)
{
    const struct ox_compute *t = p->d->compute;
    const size_t hidden = p->d->rnn->hidden, batch = p->d->rnn->batch;
    for (size_t b = 0; b < batch; b += t->mr) {
        const float *state[OX_TILE_ROWS_MAX];
        const size_t rows = batch - b < t->mr ? batch - b : t->mr;
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
    const struct direction *d = p->d;
    const size_t hidden = d->rnn->hidden, blocks = (p->n - 1) / BLOCK + 1;
    (void)slot;
    size_t at = (p->back ? blocks - 1 - i : i) * BLOCK;
    size_t n = p->n - at < BLOCK ? p->n - at : BLOCK;
    if (p->fixed) {
        ox_fixed24_kernels(d->compute->level)
            ->multiply(p->fixed, at, n, (unsigned)d->rnn->batch, p->state, hidden, p->out + at,
                       p->out_row);
        return;
    }
    if (p->packed) {
        packed_block(p, at, n);
        return;
    }
    for (size_t b = 0; b < d->rnn->batch; b += ROWS) {
        size_t rows = d->rnn->batch - b < ROWS ? d->rnn->batch - b : ROWS;
        d->compute->dots(n, hidden, (unsigned)rows, p->state + b * hidden, hidden,
                         p->weights + at * hidden, hidden, p->out + b * p->out_row + at,
                         p->out_row);
    }
}

/* out[batch, n] = state[batch, hidden] times the n rows of that part of the weights. */
static void multiply(const struct direction *d, size_t step, const float *state, size_t which,
                     float *out, size_t out_row)
{
    const size_t first = which ? part_rows(d->rnn, 0) : 0, n = part_rows(d->rnn, which);
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
                        .out = out,
                        .out_row = out_row,
                        .back = step % 2 != 0};
    double flops = 2.0 * (double)n * (double)d->rnn->hidden * (double)d->rnn->batch;
    ox_spread(d->env, (n - 1) / BLOCK + 1, flops * (d->rnn->batch < ROWS ? WAITS : 1), product_task,
              &p);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void activate(const struct direction *d, size_t f, float *x, size_t n)
{
    float clip = (float)d->rnn->clip;
    if (clip > 0)
        d->rows->unary[OX_UNARY_CLIP](n, x, x, -clip, clip);
    d->f[f].unary(n, x, x, d->f[f].a, d->f[f].b);
}

static void add(const struct direction *d, size_t n, float *a, const float *b)
{
    d->rows->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, a, b, a);
}

static void times(const struct direction *d, size_t n, const float *a, const float *b, float *y)
{
    d->rows->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, a, b, y);
}

static size_t length_of(const struct direction *d, size_t b)
{
    return d->lens ? (size_t)ox_tensor_get_int(d->lens, b) : d->rnn->steps;
}

static size_t time_of(const struct direction *d, size_t length, size_t s)
{
    return d->backward ? length - 1 - s : s;
}

/* What follows a product, of each sequence of the batch: threads that are awake take part. */
struct rest {
    const struct direction *d;
    size_t step;
};

static void each_sequence(const struct direction *d, size_t step, void (*task)(void *, size_t))
{
    struct rest rest = {d, step};
    ox_parallel_awake(d->env, d->rnn->batch, task, &rest);
}

/* What the input adds to the gates of a sequence; NULL: it has ended. */
static const float *input_of(const struct rest *rest, size_t b)
{
    const struct direction *d = rest->d;
    const struct ox_rnn *rnn = d->rnn;
    const size_t length = length_of(d, b);
    if (rest->step >= length)
        return NULL;
    return d->from_input +
           (time_of(d, length, rest->step) * rnn->batch + b) * n_gates[rnn->kind] * rnn->hidden;
}

/* a += peephole * c */
static void peep(const struct direction *d, size_t n, float *a, const float *peephole,
                 const float *c, float *spare)
{
    times(d, n, peephole, c, spare);
    add(d, n, a, spare);
}

/* gate: i, o, f, c, in their order */
static void step_lstm(const struct direction *d, float *gate, float *h, float *c, float *spare)
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
    const struct direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = n_gates[rnn->kind] * n;
    if (!input)
        return;
    float *gate = d->gates + b * g;
    add(d, g, gate, input);
    if (rnn->kind == OX_RNN_LSTM) {
        step_lstm(d, gate, d->h + b * n, d->c + b * n, d->spare + b * n);
    } else {
        activate(d, 0, gate, n);
        memcpy(d->h + b * n, gate, n * sizeof *gate);
    }
}

static void step_other(const struct direction *d, size_t s)
{
    multiply(d, s, d->h, 0, d->gates, n_gates[d->rnn->kind] * d->rnn->hidden);
    each_sequence(d, s, end_other);
}

/* gate: z and r in their order, h. The reset gate is applied before the hidden gate's product, or after it when linear_before_reset. */
static void begin_gru(void *arg, size_t b)
{
    const struct direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = 3 * n, both = 2 * n;
    if (!input)
        return;
    float *gate = d->gates + b * g;
    add(d, both, gate, input);
    activate(d, 0, gate, both);
    if (!rnn->linear_before_reset)
        times(d, n, gate + rnn->gate_at[1] * n, d->h + b * n, d->reset + b * n);
}

static void end_gru(void *arg, size_t b)
{
    const struct direction *d = ((const struct rest *)arg)->d;
    const struct ox_rnn *rnn = d->rnn;
    const float *input = input_of(arg, b);
    const size_t n = rnn->hidden, g = 3 * n, both = 2 * n;
    if (!input)
        return;
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

static void step_gru(const struct direction *d, size_t s)
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

static void run_direction(void *arg, size_t which, size_t slot)
{
    const struct direction *d = (const struct direction *)arg + which;
    const struct ox_rnn *rnn = d->rnn;
    const size_t n = rnn->hidden;
    size_t steps = 0; /* of the longest */
    (void)slot;
    for (size_t b = 0; b < rnn->batch; b++) {
        const size_t length = length_of(d, b);
        steps = length > steps ? length : steps;
    }
    for (size_t s = 0; s < steps; s++) {
        if (rnn->kind == OX_RNN_GRU)
            step_gru(d, s);
        else
            step_other(d, s);
        for (size_t b = 0; d->y && b < rnn->batch; b++) {
            size_t length = length_of(d, b);
            if (s >= length)
                continue;
            size_t t = time_of(d, length, s);
            memcpy(d->y + ((t * rnn->directions + d->which) * rnn->batch + b) * n, d->h + b * n,
                   n * sizeof *d->h);
        }
    }
    const size_t cells = rnn->batch * n;
    if (d->y_h)
        memcpy(d->y_h + d->which * cells, d->h, cells * sizeof *d->h);
    if (d->y_c)
        memcpy(d->y_c + d->which * cells, d->c, cells * sizeof *d->c);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Inputs of DynamicQuantizeLSTM. */
enum { W = 1, R = 2, LENS = 4, P = 7, W_SCALE = 8, R_SCALE = 10 };

static bool has_bytes(const struct ox_run *r)
{
    return strcmp(r->node->op_type, "DynamicQuantizeLSTM") == 0;
}

static bool are_floats(const struct ox_run *r)
{
    const bool bytes = has_bytes(r);
    for (size_t i = 0; i < r->n_in && !(bytes && i > P); i++) {
        if (i != LENS && !(bytes && (i == W || i == R)) && ox_run_has(r, i) && !ox_fast_in(r, i))
            return false;
    }
    return ox_run_in(r, 0)->n > 0 &&
           (!bytes ||
            (!r->saturating && ox_rnn_bytes_can(r, W, W_SCALE) && ox_rnn_bytes_can(r, R, R_SCALE)));
}

/* What prepare() leaves: W and R packed, a direction after another; NULL: not. */
struct kept {
    const float *w, *r;
    struct ox_rnn_bytes bytes[2][2]; /* of a direction W and R */
    bool has_fixed;
    struct ox_fixed24 fixed[2][2]; /* of a direction R, a part of the gates each */
};

static const struct kept *kept_of(const struct ox_run *r)
{
    static const struct kept none;
    const struct kept *kept = ox_run_state(r);
    return kept ? kept : &none;
}

static size_t recurrence_floats(const struct ox_compute *t, const struct ox_rnn *rnn)
{
    const size_t a = ox_dense_packed(t, rnn->hidden, part_rows(rnn, 0));
    const size_t b = ox_dense_packed(t, rnn->hidden, part_rows(rnn, 1));
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static void pack_recurrence(const struct ox_compute *t, struct ox_env *env,
                            const struct ox_rnn *rnn, const float *from, float *to)
{
    for (size_t which = 0; which < 2; which++) {
        const size_t n = part_rows(rnn, which), k = rnn->hidden;
        ox_dense_pack(t, env, k, n, from, OX_WEIGHT_F32, 1, k, to);
        from += n * k;
        to += ox_dense_packed(t, k, n);
    }
}

static bool wants_packed(const struct ox_rnn *rnn)
{
    return rnn->batch > 1;
}

/* The states of a plain RNN may grow beyond what has room for such weights' units. */
static bool wants_fixed(const struct ox_rnn *rnn)
{
    return rnn->kind != OX_RNN_PLAIN && rnn->batch <= FIXED_MOST &&
           n_gates[rnn->kind] * rnn->hidden >= FIXED_LEAST / rnn->hidden &&
           ox_fixed24_kernels(ox_cpu())->fast;
}

static size_t fixed_floats(const struct ox_rnn *rnn)
{
    const size_t a = ox_fixed24_room(part_rows(rnn, 0), rnn->hidden);
    const size_t b = ox_fixed24_room(part_rows(rnn, 1), rnn->hidden);
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* to: of fixed_floats() a direction. False: the weights are too uneven. */
static bool fix_recurrence(struct ox_env *env, const struct ox_rnn *rnn, const float *from,
                           float *to, struct ox_fixed24 out[2][2])
{
    for (size_t i = 0; i < 2 * rnn->directions; i++) {
        const size_t n = part_rows(rnn, i % 2), k = rnn->hidden;
        if (!ox_fixed24_pack(ox_fixed24_kernels(ox_cpu()), env, n, k, from, to, &out[i / 2][i % 2]))
            return false;
        from += n * k;
        to += ox_fixed24_room(n, k);
    }
    return true;
}

static enum ox_rnn_kind kind_of(const struct ox_run *r)
{
    const char *name = r->node->op_type;
    return strcmp(name, "LSTM") == 0 || has_bytes(r) ? OX_RNN_LSTM
           : strcmp(name, "GRU") == 0                ? OX_RNN_GRU
                                                     : OX_RNN_PLAIN;
}

static bool is_fixed(const struct ox_run *r, size_t i)
{
    const struct ox_tensor *in = ox_fast_in(r, i);
    return r->fixed && r->fixed[i] && in && in->n > 0;
}

enum { HEAD = (sizeof(struct kept) + 63) / 64 * 64 };

/* Bytes of all that is packed of 8-bit weights; SIZE_MAX: too many. */
static size_t bytes_size(const struct ox_run *r, size_t directions)
{
    const size_t w = ox_rnn_bytes_size(ox_run_in(r, W)), rec = ox_rnn_bytes_size(ox_run_in(r, R));
    size_t all;
    return OX_ADD_OVERFLOWS(w, rec, &all) || OX_MUL_OVERFLOWS(all, directions, &all) ||
                   OX_ADD_OVERFLOWS(all, (size_t)HEAD, &all)
               ? SIZE_MAX
               : all;
}

/* block: bytes_size() of them. */
static struct kept *pack_bytes(const struct ox_run *r, size_t directions, char *block)
{
    struct kept *kept = (struct kept *)(void *)block;
    const size_t sizes[2] = {ox_rnn_bytes_size(ox_run_in(r, W)),
                             ox_rnn_bytes_size(ox_run_in(r, R))};
    *kept = (struct kept){.w = NULL};
    block += HEAD;
    for (size_t i = 0; i < 2 * directions; i++) {
        const bool recurrent = i % 2 != 0;
        ox_rnn_bytes_pack(r, recurrent ? R : W, recurrent ? R_SCALE : W_SCALE, i / 2, block,
                          &kept->bytes[i / 2][recurrent]);
        block += sizes[recurrent];
    }
    return kept;
}

static enum ox_status prepare_bytes(struct ox_run *r, struct ox_error *err)
{
    static const size_t inputs[] = {W, R, W_SCALE, W_SCALE + 1, R_SCALE, R_SCALE + 1};
    struct ox_rnn rnn;
    for (size_t i = 0; i < OX_COUNT(inputs); i++)
        if (inputs[i] >= r->n_in || !r->fixed || !r->fixed[inputs[i]])
            return OX_OK;
    if (!are_floats(r) || ox_rnn_read(r, OX_RNN_LSTM, &rnn, NULL) != OX_OK ||
        bytes_size(r, rnn.directions) == SIZE_MAX)
        return OX_OK;
    char *block = ox_run_keep(r, bytes_size(r, rnn.directions), err);
    if (!block)
        return err->status;
    pack_bytes(r, rnn.directions, block);
    return OX_OK;
}

/* Activations of one direction or both; false: one of them is not known here. */
static bool find_functions(const struct ox_rnn *rnn, struct direction d[2])
{
    const size_t n = rnn->kind == OX_RNN_LSTM ? 3 : rnn->kind == OX_RNN_GRU ? 2 : 1;
    for (size_t i = 0; i < rnn->directions * n; i++)
        if (!find_function(&rnn->functions[i / n][i % n], &d[i / n].f[i % n]))
            return false;
    return true;
}

/* What is kept of R, in a block where it comes last. */
static void keep_recurrence(struct ox_run *r, const struct ox_rnn *rnn, float *to,
                            struct kept *kept)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const float *from = ox_fast_in(r, R)->data;
    if (wants_fixed(rnn) && fix_recurrence(r->env, rnn, from, to, kept->fixed)) {
        kept->has_fixed = true;
        if (ox_run_int(r, "hidden_size", 0) > 0)
            ox_run_absorb(r, R);
        return;
    }
    if (!wants_packed(rnn))
        return;
    kept->r = to;
    for (size_t i = 0; i < rnn->directions; i++)
        pack_recurrence(t, r->env, rnn, from + i * n_gates[rnn->kind] * rnn->hidden * rnn->hidden,
                        to + i * recurrence_floats(t, rnn));
}

/* Floats of a direction's R. */
static size_t kept_floats(const struct ox_compute *t, const struct ox_rnn *rnn)
{
    const size_t fixed = wants_fixed(rnn) ? fixed_floats(rnn) : 0;
    const size_t packed = wants_packed(rnn) ? recurrence_floats(t, rnn) : 0;
    return fixed > packed ? fixed : packed;
}

enum ox_status ox_prepare_rnn(struct ox_run *r, struct ox_error *err)
{
    if (has_bytes(r))
        return prepare_bytes(r, err);
    const struct ox_compute *t = ox_compute(ox_cpu());
    struct direction unused[2];
    struct ox_rnn rnn;
    if (r->once || !is_fixed(r, W) || ox_run_int(r, "layout", 0) != 0 ||
        ox_rnn_read(r, kind_of(r), &rnn, NULL) != OX_OK || rnn.hidden == 0 ||
        !find_functions(&rnn, unused))
        return OX_OK;
    const size_t recurrent = is_fixed(r, R) ? kept_floats(t, &rnn) : 0;
    const size_t n = n_gates[rnn.kind] * rnn.hidden, k = rnn.input;
    const bool few = ox_dense_wants_unpacked(t, rnn.steps * rnn.batch, n, k, 1, k);
    if (few && recurrent == 0) {
        r->prepared->again = true; /* there may be more rows next time */
        return OX_OK;
    }
    const size_t floats = ox_dense_packed(t, k, n);
    size_t bytes;
    if (OX_ADD_OVERFLOWS(floats, recurrent, &bytes) ||
        OX_MUL_OVERFLOWS(bytes, rnn.directions * sizeof(float), &bytes) ||
        OX_ADD_OVERFLOWS(bytes, (size_t)HEAD, &bytes))
        return OX_OK;
    char *block = ox_run_keep(r, bytes, err);
    if (!block)
        return err->status;
    float *w = (float *)(void *)(block + HEAD);
    struct kept *kept = (struct kept *)(void *)block;
    *kept = (struct kept){.w = w};
    for (size_t i = 0; i < rnn.directions; i++)
        ox_dense_pack(t, r->env, k, n, (const float *)ox_fast_in(r, W)->data + i * n * k,
                      OX_WEIGHT_F32, 1, k, w + i * floats);
    if (!few)
        ox_run_absorb(r, W);
    if (recurrent > 0)
        keep_recurrence(r, &rnn, w + rnn.directions * floats, kept);
    return OX_OK;
}

/* Work memory of a product with 8-bit weights; NULL with *err set. */
static void *bytes_room(struct ox_run *r, const struct ox_rnn_bytes *w, const struct ox_env *env,
                        size_t rows, struct ox_error *err)
{
    const size_t bytes = ox_rnn_bytes_work(w, env, rows);
    char *room = bytes < SIZE_MAX - 64 ? ox_run_scratch(r, bytes + 64, 1, err) : NULL;
    if (!room) {
        ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
        return NULL;
    }
    return room + (64 - (uintptr_t)room % 64) % 64;
}

/* Products of the inputs of all steps, with the biases that can be added in advance. bytes: W and R of 8 bits; NULL. */
static enum ox_status from_input(struct ox_run *r, const struct ox_rnn *rnn, size_t which,
                                 const struct ox_rnn_bytes *bytes, const float *bias, float *out,
                                 struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const size_t g = n_gates[rnn->kind] * rnn->hidden, k = rnn->input;
    const size_t both = rnn->kind == OX_RNN_GRU && rnn->linear_before_reset ? 2 * rnn->hidden : g;
    float *sum = NULL;
    if (bias) {
        sum = ox_run_scratch(r, g, sizeof *sum, err);
        if (!sum)
            return OX_NO_MEMORY;
        for (size_t j = 0; j < g; j++)
            sum[j] = bias[j] + (j < both ? bias[g + j] : 0);
    }
    if (bytes) {
        void *room = bytes_room(r, &bytes[0], r->env, rnn->steps * rnn->batch, err);
        if (!room)
            return err->status;
        ox_rnn_bytes_multiply(&bytes[0], r->env, rnn->steps * rnn->batch, ox_fast_in(r, 0)->data,
                              sum, out, room);
        return OX_OK;
    }
    const struct ox_tensor *w = ox_fast_in(r, W);
    const bool in_place = w && ox_dense_wants_unpacked(t, rnn->steps * rnn->batch, g, k, 1, k);
    const float *packed = in_place ? NULL : kept_of(r)->w;
    struct ox_dense d = {.m = rnn->steps * rnn->batch,
                         .n = g,
                         .k = k,
                         .a = ox_fast_in(r, 0)->data,
                         .a_row = k,
                         .a_col = 1,
                         .packed = packed ? packed + which * ox_dense_packed(t, k, g) : NULL,
                         .b = packed ? NULL : (const float *)w->data + which * g * k,
                         .b_row = 1,
                         .b_col = k,
                         .c = out,
                         .c_row = g,
                         .end = {.scale = 1, .col_bias = sum}};
    size_t floats = ox_dense_work(t, r->env, &d);
    float *work = ox_run_work(r, floats, sizeof *work, err);
    if (!work)
        return err->status;
    ox_dense_run(t, r->env, &d, work);
    return OX_OK;
}

static const float *part(const struct ox_run *r, size_t i, size_t which, size_t n)
{
    const struct ox_tensor *in = ox_fast_in(r, i);
    return in ? (const float *)in->data + which * n : NULL;
}

/* d->packed, where that pays. */
static enum ox_status pack_direction(struct ox_run *r, struct direction *d, struct ox_error *err)
{
    const struct ox_rnn *rnn = d->rnn;
    const size_t floats = recurrence_floats(d->compute, rnn);
    const float *packed = kept_of(r)->r;
    if (kept_of(r)->has_fixed) {
        d->fixed = kept_of(r)->fixed[d->which];
        return OX_OK;
    }
    if (!wants_packed(rnn))
        return OX_OK;
    if (packed) {
        packed += d->which * floats;
    } else {
        float *fresh = ox_run_work(r, floats, sizeof *fresh, err);
        if (!fresh)
            return err->status;
        pack_recurrence(d->compute, r->env, rnn, d->recurrence, fresh);
        packed = fresh;
    }
    d->packed[0] = packed;
    d->packed[1] = packed + ox_dense_packed(d->compute, rnn->hidden, part_rows(rnn, 0));
    return OX_OK;
}

/* kept: of 8-bit weights, or NULL. */
static enum ox_status set_direction(struct ox_run *r, const struct ox_rnn *rnn, size_t which,
                                    const struct kept *kept, struct direction *d,
                                    struct ox_error *err)
{
    const size_t n = rnn->hidden, g = n_gates[rnn->kind] * n, cells = rnn->batch * n;
    size_t rows, floats;
    d->rnn = rnn;
    d->rows = ox_fast_rows();
    d->compute = ox_compute(ox_cpu());
    d->env = rnn->directions == 1 ? r->env : NULL;
    d->recurrence = part(r, 2, which, g * n);
    d->bias = part(r, 3, which, 2 * g);
    d->peephole = rnn->kind == OX_RNN_LSTM ? part(r, 7, which, 3 * n) : NULL;
    d->lens = ox_run_in(r, 4);
    d->backward = rnn->reverse || which == 1;
    d->which = which;
    if (OX_MUL_OVERFLOWS(rnn->steps, rnn->batch, &rows) || OX_MUL_OVERFLOWS(rows, g, &floats) ||
        OX_ADD_OVERFLOWS(floats, 5 * cells + rnn->batch * g, &floats))
        return ox_run_fail(r, err, OX_LIMIT, "the sequence is too long");
    float *input = ox_run_work(r, floats, sizeof *input, err);
    if (!input)
        return err->status;
    d->from_input = input;
    d->h = input + rows * g;
    d->c = d->h + cells;
    d->reset = d->c + cells;
    memset(d->h, 0, 3 * cells * sizeof *d->h);
    d->candidate = d->reset + cells;
    d->spare = d->candidate + cells;
    d->gates = d->spare + cells;
    const float *h0 = part(r, 5, which, cells);
    const float *c0 = rnn->kind == OX_RNN_LSTM ? part(r, 6, which, cells) : NULL;
    if (h0)
        memcpy(d->h, h0, cells * sizeof *h0);
    if (c0)
        memcpy(d->c, c0, cells * sizeof *c0);
    if (kept) {
        d->bytes = &kept->bytes[which][1];
        d->bytes_work = bytes_room(r, d->bytes, d->env, rnn->batch, err);
        if (!d->bytes_work)
            return err->status;
    } else {
        OX_TRY(pack_direction(r, d, err));
    }
    return from_input(r, rnn, which, kept ? kept->bytes[which] : NULL, d->bias, input, err);
}

/* Output i, made if it is wanted; sequences that end early leave zeros. */
static enum ox_status make(struct ox_run *r, size_t i, unsigned rank, const int64_t *dims,
                           float **data, struct ox_error *err)
{
    struct ox_tensor *out;
    if (!ox_run_wants(r, i))
        return OX_OK;
    OX_TRY(ox_run_out(r, i, OX_FLOAT32, rank, dims, &out, err));
    *data = out->data;
    memset(out->data, 0, out->n * sizeof(float));
    return OX_OK;
}

enum ox_status ox_fast_rnn(struct ox_run *r, struct ox_error *err)
{
    struct ox_rnn rnn;
    struct direction d[2] = {{.rnn = NULL}, {.rnn = NULL}};
    if (!are_floats(r) || ox_run_int(r, "layout", 0) != 0)
        return OX_UNSUPPORTED;
    OX_TRY(ox_rnn_read(r, kind_of(r), &rnn, err));
    if (rnn.hidden == 0)
        return OX_UNSUPPORTED;
    if (!find_functions(&rnn, d))
        return OX_UNSUPPORTED;
    const struct kept *kept = NULL;
    if (has_bytes(r)) {
        kept = ox_run_state(r);
        const size_t bytes = kept ? 0 : bytes_size(r, rnn.directions);
        char *block = kept ? NULL : bytes == SIZE_MAX ? NULL : ox_run_work(r, bytes, 1, err);
        if (!kept && !block)
            return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
        kept = kept ? kept : pack_bytes(r, rnn.directions, block);
    }
    const int64_t n = (int64_t)rnn.directions, batch = (int64_t)rnn.batch;
    const int64_t dims[] = {(int64_t)rnn.steps, n, batch, (int64_t)rnn.hidden};
    float *y = NULL, *y_h = NULL, *y_c = NULL;
    OX_TRY(make(r, 0, 4, dims, &y, err));
    OX_TRY(make(r, 1, 3, dims + 1, &y_h, err));
    if (rnn.kind == OX_RNN_LSTM)
        OX_TRY(make(r, 2, 3, dims + 1, &y_c, err));
    for (size_t which = 0; which < rnn.directions; which++) {
        OX_TRY(set_direction(r, &rnn, which, kept, &d[which], err));
        d[which].y = y;
        d[which].y_h = y_h;
        d[which].y_c = y_c;
    }
    double flops = 2.0 * WAITS * (double)(rnn.steps * rnn.hidden) * (double)rnn.hidden *
                   (double)n_gates[rnn.kind] * (double)rnn.batch;
    ox_spread(r->env, rnn.directions, rnn.directions > 1 ? flops : 0, run_direction, d);
    return OX_OK;
}
