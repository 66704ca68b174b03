#include "ops/rnn/rnn_weights.h"

#include <string.h>

#include "ops/fast/fast.h"

enum {
    W = OX_RNN_IN_W,
    R = OX_RNN_IN_R,
    LENS = OX_RNN_IN_LENS,
    P = OX_RNN_IN_P,
    W_SCALE = OX_RNN_IN_W_SCALE,
    R_SCALE = OX_RNN_IN_R_SCALE,
    FIXED_MOST = 2 /* sequences whose products wait for weights of 24 bits */
};

bool ox_rnn_has_bytes(const struct ox_run *r)
{
    return strcmp(r->node->op_type, "DynamicQuantizeLSTM") == 0;
}

bool ox_rnn_are_floats(const struct ox_run *r)
{
    const bool bytes = ox_rnn_has_bytes(r);
    for (size_t i = 0; i < r->n_in && !(bytes && i > P); i++) {
        if (i != LENS && !(bytes && (i == W || i == R)) && ox_run_has(r, i) && !ox_fast_in(r, i))
            return false;
    }
    return ox_run_in(r, 0)->n > 0 &&
           (!bytes ||
            (!r->saturating && ox_rnn_bytes_can(r, W, W_SCALE) && ox_rnn_bytes_can(r, R, R_SCALE)));
}

const struct ox_rnn_kept *ox_rnn_kept_of(const struct ox_run *r)
{
    static const struct ox_rnn_kept none;
    const struct ox_rnn_kept *kept = ox_run_state(r);
    return kept ? kept : &none;
}

size_t ox_rnn_recurrence_floats(const struct ox_compute *t, const struct ox_rnn *rnn)
{
    const size_t a = ox_dense_packed(t, rnn->hidden, ox_rnn_part_rows(rnn, 0));
    const size_t b = ox_dense_packed(t, rnn->hidden, ox_rnn_part_rows(rnn, 1));
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

void ox_rnn_pack_recurrence(const struct ox_compute *t, struct ox_env *env,
                            const struct ox_rnn *rnn, const float *from, float *to)
{
    for (size_t which = 0; which < 2; which++) {
        const size_t n = ox_rnn_part_rows(rnn, which), k = rnn->hidden;
        ox_dense_pack(t, env, k, n, from, OX_WEIGHT_F32, 1, k, to);
        from += n * k;
        to += ox_dense_packed(t, k, n);
    }
}

bool ox_rnn_wants_packed(const struct ox_rnn *rnn)
{
    return rnn->batch > 1;
}

/* The states of a plain RNN may grow beyond what has room for such weights' units. */
static bool wants_fixed(const struct ox_rnn *rnn)
{
    return rnn->kind != OX_RNN_PLAIN && rnn->batch <= FIXED_MOST &&
           ox_rnn_gates(rnn->kind) * rnn->hidden >=
               ox_fixed24_least(ox_cpu(), rnn->batch) / rnn->hidden;
}

static size_t fixed_floats(const struct ox_rnn *rnn)
{
    const size_t a = ox_fixed24_room(ox_rnn_part_rows(rnn, 0), rnn->hidden);
    const size_t b = ox_fixed24_room(ox_rnn_part_rows(rnn, 1), rnn->hidden);
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* to: of fixed_floats() a direction. False: the weights are too uneven. */
static bool fix_recurrence(struct ox_env *env, const struct ox_rnn *rnn, const float *from,
                           float *to, struct ox_fixed24 out[2][2])
{
    for (size_t i = 0; i < 2 * rnn->directions; i++) {
        const size_t n = ox_rnn_part_rows(rnn, i % 2), k = rnn->hidden;
        if (!ox_fixed24_pack(ox_fixed24_kernels(ox_cpu()), env, n, k, from, 1, k, to,
                             &out[i / 2][i % 2]))
            return false;
        from += n * k;
        to += ox_fixed24_room(n, k);
    }
    return true;
}

enum ox_rnn_kind ox_rnn_kind_of(const struct ox_run *r)
{
    const char *name = r->node->op_type;
    return strcmp(name, "LSTM") == 0 || ox_rnn_has_bytes(r) ? OX_RNN_LSTM
           : strcmp(name, "GRU") == 0                       ? OX_RNN_GRU
                                                            : OX_RNN_PLAIN;
}

static bool is_fixed(const struct ox_run *r, size_t i)
{
    const struct ox_tensor *in = ox_fast_in(r, i);
    return r->fixed && r->fixed[i] && in && in->n > 0;
}

enum { HEAD = (sizeof(struct ox_rnn_kept) + 63) / 64 * 64 };

size_t ox_rnn_block_bytes(const struct ox_run *r, size_t directions)
{
    const size_t w = ox_rnn_bytes_size(ox_run_in(r, W)), rec = ox_rnn_bytes_size(ox_run_in(r, R));
    size_t all;
    return OX_ADD_OVERFLOWS(w, rec, &all) || OX_MUL_OVERFLOWS(all, directions, &all) ||
                   OX_ADD_OVERFLOWS(all, (size_t)HEAD, &all)
               ? SIZE_MAX
               : all;
}

struct ox_rnn_kept *ox_rnn_pack_bytes(const struct ox_run *r, size_t directions, char *block)
{
    struct ox_rnn_kept *kept = (struct ox_rnn_kept *)(void *)block;
    const size_t sizes[2] = {ox_rnn_bytes_size(ox_run_in(r, W)),
                             ox_rnn_bytes_size(ox_run_in(r, R))};
    *kept = (struct ox_rnn_kept){.w = NULL};
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
    if (!ox_rnn_are_floats(r) || ox_rnn_read(r, OX_RNN_LSTM, &rnn, NULL) != OX_OK ||
        ox_rnn_block_bytes(r, rnn.directions) == SIZE_MAX)
        return OX_OK;
    char *block = ox_run_keep(r, ox_rnn_block_bytes(r, rnn.directions), err);
    if (!block)
        return err->status;
    ox_rnn_pack_bytes(r, rnn.directions, block);
    return OX_OK;
}

/* What is kept of R, in a block where it comes last. */
static void keep_recurrence(struct ox_run *r, const struct ox_rnn *rnn, float *to,
                            struct ox_rnn_kept *kept)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const float *from = ox_fast_in(r, R)->data;
    if (ox_run_int(r, "hidden_size", 0) > 0)
        ox_run_absorb(r, R);
    if (wants_fixed(rnn) && fix_recurrence(r->env, rnn, from, to, kept->fixed)) {
        kept->has_fixed = true;
        return;
    }
    kept->r = to;
    for (size_t i = 0; i < rnn->directions; i++)
        ox_rnn_pack_recurrence(t, r->env, rnn,
                               from + i * ox_rnn_gates(rnn->kind) * rnn->hidden * rnn->hidden,
                               to + i * ox_rnn_recurrence_floats(t, rnn));
}

/* Floats of a direction's R. */
static size_t kept_floats(const struct ox_compute *t, const struct ox_rnn *rnn)
{
    const size_t fixed = wants_fixed(rnn) ? fixed_floats(rnn) : 0;
    const size_t packed = ox_rnn_recurrence_floats(t, rnn);
    return fixed > packed ? fixed : packed;
}

enum ox_status ox_prepare_rnn(struct ox_run *r, struct ox_error *err)
{
    if (ox_rnn_has_bytes(r))
        return prepare_bytes(r, err);
    const struct ox_compute *t = ox_compute(ox_cpu());
    struct ox_rnn_direction unused[2];
    struct ox_rnn rnn;
    if (r->once || !is_fixed(r, W) || ox_run_int(r, "layout", 0) != 0 ||
        ox_rnn_read(r, ox_rnn_kind_of(r), &rnn, NULL) != OX_OK || rnn.hidden == 0 ||
        !ox_rnn_find_functions(&rnn, unused))
        return OX_OK;
    const size_t recurrent = is_fixed(r, R) ? kept_floats(t, &rnn) : 0;
    const size_t n = ox_rnn_gates(rnn.kind) * rnn.hidden, k = rnn.input;
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
    struct ox_rnn_kept *kept = (struct ox_rnn_kept *)(void *)block;
    *kept = (struct ox_rnn_kept){.w = w};
    for (size_t i = 0; i < rnn.directions; i++)
        ox_dense_pack(t, r->env, k, n, (const float *)ox_fast_in(r, W)->data + i * n * k,
                      OX_WEIGHT_F32, 1, k, w + i * floats);
    if (!few)
        ox_run_absorb(r, W);
    if (recurrent > 0)
        keep_recurrence(r, &rnn, w + rnn.directions * floats, kept);
    return OX_OK;
}
