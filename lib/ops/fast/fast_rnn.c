/* LSTM, GRU and RNN in float32. The products with the input run for all steps at once; those with the state read the recurrent
 * weights a block of rows at a time, there and back on alternate steps, so that what is still in the cache is used before it goes:
 * packed, or in 24 bits for few sequences where they are far; where they are for one sequence that runs once. Several sequences are
 * parted where threads may have some each. */
#include <stdint.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/rnn/rnn_weights.h"

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

/* What the products with the input read. */
struct input {
    const float *x;
    size_t rows;
};

/* All of the input, or those rows alone that count where these are fewer; but not so few that their sums would be taken otherwise. */
static enum ox_status find_input(struct ox_run *r, const struct ox_rnn *rnn, bool bytes,
                                 struct ox_rnn_order *order, struct input *out,
                                 struct ox_error *err)
{
    enum { LEAST = 2 * OX_TILE_ROWS_MAX };
    const size_t rows = order->before[rnn->steps];
    *out = (struct input){ox_fast_in(r, 0)->data, rnn->steps * rnn->batch};
    if (bytes || rows == out->rows || rows < LEAST)
        return OX_OK;
    size_t floats;
    float *x =
        OX_MUL_OVERFLOWS(rows, rnn->input, &floats) ? NULL : ox_run_work(r, floats, sizeof *x, err);
    if (!x)
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    ox_rnn_gather(rnn, order, out->x, x);
    order->gathered = true;
    *out = (struct input){x, rows};
    return OX_OK;
}

/* Products of the inputs of all steps, with the biases that can be added in advance. bytes: W and R of 8 bits; NULL. */
static enum ox_status from_input(struct ox_run *r, const struct ox_rnn *rnn, const struct input *x,
                                 size_t which, const struct ox_rnn_bytes *bytes, const float *bias,
                                 float *out, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const size_t g = ox_rnn_gates(rnn->kind) * rnn->hidden, k = rnn->input;
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
        void *room = bytes_room(r, &bytes[0], r->env, x->rows, err);
        if (!room)
            return err->status;
        ox_rnn_bytes_multiply(&bytes[0], r->env, x->rows, x->x, sum, out, room);
        return OX_OK;
    }
    const struct ox_tensor *w = ox_fast_in(r, OX_RNN_IN_W);
    const bool in_place = w && ox_dense_wants_unpacked(t, x->rows, g, k, 1, k);
    const float *packed = in_place ? NULL : ox_rnn_kept_of(r)->w;
    struct ox_dense d = {.m = x->rows,
                         .n = g,
                         .k = k,
                         .a = x->x,
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
static enum ox_status pack_direction(struct ox_run *r, struct ox_rnn_direction *d,
                                     struct ox_error *err)
{
    const struct ox_rnn *rnn = d->rnn;
    const size_t floats = ox_rnn_recurrence_floats(d->compute, rnn);
    const float *packed = ox_rnn_kept_of(r)->r;
    if (ox_rnn_kept_of(r)->has_fixed) {
        d->fixed = ox_rnn_kept_of(r)->fixed[d->which];
        return OX_OK;
    }
    if (!packed && !ox_rnn_wants_packed(rnn))
        return OX_OK;
    if (packed) {
        packed += d->which * floats;
    } else {
        float *fresh = ox_run_work(r, floats, sizeof *fresh, err);
        if (!fresh)
            return err->status;
        ox_rnn_pack_recurrence(d->compute, r->env, rnn, d->recurrence, fresh);
        packed = fresh;
    }
    d->packed[0] = packed;
    d->packed[1] = packed + ox_dense_packed(d->compute, rnn->hidden, ox_rnn_part_rows(rnn, 0));
    return OX_OK;
}

/* kept: of 8-bit weights, or NULL. */
static enum ox_status set_direction(struct ox_run *r, const struct ox_rnn *rnn,
                                    const struct ox_rnn_order *order, const struct input *x,
                                    size_t which, const struct ox_rnn_kept *kept,
                                    struct ox_rnn_direction *d, struct ox_error *err)
{
    const size_t n = rnn->hidden, g = ox_rnn_gates(rnn->kind) * n, cells = rnn->batch * n;
    size_t floats;
    d->rnn = rnn;
    d->order = order;
    d->rows = ox_fast_rows();
    d->compute = ox_compute(ox_cpu());
    d->env = rnn->directions == 1 && order->parts == 1 ? r->env : NULL;
    d->recurrence = part(r, 2, which, g * n);
    d->bias = part(r, 3, which, 2 * g);
    d->peephole = rnn->kind == OX_RNN_LSTM ? part(r, 7, which, 3 * n) : NULL;
    d->backward = rnn->reverse || which == 1;
    d->which = which;
    if (OX_MUL_OVERFLOWS(x->rows, g, &floats) ||
        OX_ADD_OVERFLOWS(floats, 5 * cells + rnn->batch * g, &floats))
        return ox_run_fail(r, err, OX_LIMIT, "the sequence is too long");
    float *input = ox_run_work(r, floats, sizeof *input, err);
    if (!input)
        return err->status;
    d->from_input = input;
    d->h = input + x->rows * g;
    d->c = d->h + cells;
    d->reset = d->c + cells;
    memset(d->h, 0, 3 * cells * sizeof *d->h);
    d->candidate = d->reset + cells;
    d->spare = d->candidate + cells;
    d->gates = d->spare + cells;
    const float *h0 = part(r, 5, which, cells);
    const float *c0 = rnn->kind == OX_RNN_LSTM ? part(r, 6, which, cells) : NULL;
    if (h0)
        ox_rnn_to_parts(order, n, h0, d->h);
    if (c0)
        ox_rnn_to_parts(order, n, c0, d->c);
    if (kept) {
        d->bytes = &kept->bytes[which][1];
        d->bytes_work = bytes_room(r, d->bytes, d->env, rnn->batch, err);
        if (!d->bytes_work)
            return err->status;
    } else {
        OX_TRY(pack_direction(r, d, err));
    }
    return from_input(r, rnn, x, which, kept ? kept->bytes[which] : NULL, d->bias, input, err);
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

/* In how many parts the batch is run: on threads of their own these wait for nobody, but each reads all recurrent weights, which must
 * be near. */
static size_t parts_of(const struct ox_run *r, const struct ox_rnn *rnn, bool bytes)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const size_t threads = ox_slots(r->env) / rnn->directions, least = 2 * (size_t)t->mr / 3;
    if (bytes || !ox_rnn_wants_packed(rnn) || ox_rnn_kept_of(r)->has_fixed ||
        ox_rnn_recurrence_floats(t, rnn) > 4 * t->block_floats)
        return 1;
    const size_t parts = ox_least(threads, rnn->batch / least);
    return parts > 1 ? parts : 1;
}

/* All steps: directions and parts of the batch have threads of their own. */
static enum ox_status run_steps(struct ox_run *r, const struct ox_rnn *rnn,
                                const struct ox_rnn_order *order,
                                const struct ox_rnn_direction *directions, struct ox_error *err)
{
    const size_t n = rnn->directions * order->parts;
    const double flops = 2.0 * OX_RNN_WAITS * (double)(rnn->steps * rnn->hidden) *
                         (double)rnn->hidden * (double)ox_rnn_gates(rnn->kind) * (double)rnn->batch;
    struct ox_rnn_direction *d = ox_run_scratch(r, n, sizeof *d, err);
    if (!d)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        d[i] = ox_rnn_part_of(&directions[i / order->parts], i % order->parts);
    ox_spread_sums(r->env, n, n > 1 ? flops : 0, ox_rnn_run_direction, d);
    return OX_OK;
}

enum ox_status ox_fast_rnn(struct ox_run *r, struct ox_error *err)
{
    struct ox_rnn rnn;
    struct ox_rnn_direction d[2] = {{.rnn = NULL}, {.rnn = NULL}};
    if (!ox_rnn_are_floats(r) || ox_run_int(r, "layout", 0) != 0)
        return OX_UNSUPPORTED;
    OX_TRY(ox_rnn_read(r, ox_rnn_kind_of(r), &rnn, err));
    if (rnn.hidden == 0)
        return OX_UNSUPPORTED;
    if (!ox_rnn_find_functions(&rnn, d))
        return OX_UNSUPPORTED;
    const struct ox_rnn_kept *kept = NULL;
    if (ox_rnn_has_bytes(r)) {
        kept = ox_run_state(r);
        const size_t bytes = kept ? 0 : ox_rnn_block_bytes(r, rnn.directions);
        char *block = kept ? NULL : bytes == SIZE_MAX ? NULL : ox_run_work(r, bytes, 1, err);
        if (!kept && !block)
            return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
        kept = kept ? kept : ox_rnn_pack_bytes(r, rnn.directions, block);
    }
    struct ox_rnn_order order;
    struct input x;
    OX_TRY(ox_rnn_order_make(r, &rnn, ox_run_in(r, OX_RNN_IN_LENS), parts_of(r, &rnn, kept != NULL),
                             &order, err));
    OX_TRY(find_input(r, &rnn, kept != NULL, &order, &x, err));
    const int64_t n = (int64_t)rnn.directions, batch = (int64_t)rnn.batch;
    const int64_t dims[] = {(int64_t)rnn.steps, n, batch, (int64_t)rnn.hidden};
    float *y = NULL, *y_h = NULL, *y_c = NULL;
    OX_TRY(make(r, 0, 4, dims, &y, err));
    OX_TRY(make(r, 1, 3, dims + 1, &y_h, err));
    if (rnn.kind == OX_RNN_LSTM)
        OX_TRY(make(r, 2, 3, dims + 1, &y_c, err));
    for (size_t which = 0; which < rnn.directions; which++) {
        OX_TRY(set_direction(r, &rnn, &order, &x, which, kept, &d[which], err));
        d[which].y = y;
    }
    OX_TRY(run_steps(r, &rnn, &order, d, err));
    for (size_t which = 0; which < rnn.directions; which++) {
        const size_t cells = rnn.batch * rnn.hidden;
        if (y_h)
            ox_rnn_from_parts(&order, rnn.hidden, d[which].h, y_h + which * cells);
        if (y_c)
            ox_rnn_from_parts(&order, rnn.hidden, d[which].c, y_c + which * cells);
    }
    return OX_OK;
}
