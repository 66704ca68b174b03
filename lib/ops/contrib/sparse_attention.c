/* SparseAttention (com.microsoft): attention over a cache of keys and values of which each head sees only some blocks, as rows of
 * compressed sparse rows list them. In double. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/attend.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"

struct sparse {
    const struct ox_tensor *q, *k, *v, *past[2];
    struct ox_tensor *cache[2]; /* keys and values that go out: [batch, kv_heads, most, size] */
    size_t batch, rows, heads, kv_heads, size, most;
    size_t q_width, kv_width, k_from, v_from; /* of a token; where keys and values begin in it */
    size_t *pasts;                            /* of each batch */
    const int32_t *row_ends, *columns;        /* [layouts, blocks + 1], [layouts, longest] */
    size_t layouts, blocks, longest, block;
    const double *cosines, *sines; /* [positions, half]; NULL: heads are not turned */
    size_t half;
    bool interleaved;
    double scale;
    struct ox_tensor *y;
    struct ox_task_state state;
};

static enum ox_status read_tokens(struct ox_run *r, struct sparse *s, struct ox_error *err)
{
    const struct ox_tensor *q = s->q, *k = s->k, *v = s->v;
    const int64_t heads = ox_run_int(r, "num_heads", 0), shared = ox_run_int(r, "kv_num_heads", 0);
    if (q->rank != 3 || heads < 1 || shared < 1 || heads % shared || heads > 1 << 20 ||
        (k == NULL) != (v == NULL))
        return ox_run_fail(r, err, OX_INPUT,
                           "a query of rank %u, %" PRId64 " heads and %" PRId64 " of keys", q->rank,
                           heads, shared);
    s->batch = (size_t)q->dims[0];
    s->rows = (size_t)q->dims[1];
    s->heads = (size_t)heads;
    s->kv_heads = (size_t)shared;
    s->q_width = (size_t)q->dims[2];
    const size_t all = k ? s->heads : s->heads + 2 * s->kv_heads;
    if (!s->q_width || s->q_width % all)
        return ox_run_fail(r, err, OX_INPUT, "%zu columns are no %zu heads", s->q_width, all);
    s->size = s->q_width / all;
    s->kv_width = k ? s->kv_heads * s->size : s->q_width;
    const int64_t want[] = {q->dims[0], q->dims[1], (int64_t)s->kv_width};
    if (k && (k->rank != 3 || v->rank != 3 || memcmp(k->dims, want, sizeof want) != 0 ||
              memcmp(v->dims, want, sizeof want) != 0))
        return ox_run_fail(r, err, OX_INPUT, "key or value is not %zu x %zu x %zu", s->batch,
                           s->rows, s->kv_width);
    if (!k) {
        s->k = s->v = q;
        s->k_from = s->heads * s->size;
        s->v_from = s->k_from + s->kv_heads * s->size;
    }
    return OX_OK;
}

static enum ox_status read_cache(struct ox_run *r, struct sparse *s, struct ox_error *err)
{
    for (size_t i = 0; i < 2; i++) {
        const struct ox_tensor *past = s->past[i];
        if (past->rank != 4 || (size_t)past->dims[0] != s->batch ||
            (size_t)past->dims[1] != s->kv_heads || past->dims[2] != s->past[0]->dims[2] ||
            (size_t)past->dims[3] != s->size)
            return ox_run_fail(r, err, OX_INPUT, "%s is not [%zu, %zu, positions, %zu]",
                               i ? "past_value" : "past_key", s->batch, s->kv_heads, s->size);
    }
    s->most = (size_t)s->past[0]->dims[2];
    return OX_OK;
}

/* How many tokens were there before. A prompt (as many rows as tokens in all) has none; what its rows have beyond a batch's length is
 * padding. */
static enum ox_status read_lengths(struct ox_run *r, struct sparse *s, struct ox_error *err)
{
    const struct ox_tensor *total = ox_run_in(r, 7), *lengths = ox_run_in(r, 8);
    const int64_t all = total->n == 1 ? ox_tensor_get_int(total, 0) : 0;
    if (all < (int64_t)s->rows || all < 1 || (uint64_t)all > s->most ||
        ((uint64_t)all - 1) / s->block >= s->blocks)
        return ox_run_fail(r, err, OX_INPUT,
                           "total_sequence_length is %" PRId64
                           " for %zu new tokens, a cache of %zu and %zu rows of blocks",
                           all, s->rows, s->most, s->blocks);
    if (lengths->n != s->batch)
        return ox_run_fail(r, err, OX_INPUT,
                           "key_total_sequence_lengths has %zu elements for %zu batches",
                           lengths->n, s->batch);
    const bool prompt = all == (int64_t)s->rows;
    s->pasts = ox_run_scratch(r, s->batch + 1, sizeof *s->pasts, err);
    if (!s->pasts)
        return OX_NO_MEMORY;
    for (size_t b = 0; b < s->batch; b++) {
        const int64_t length = ox_tensor_get_int(lengths, b);
        if (length < 1 || length > all || (!prompt && length < (int64_t)s->rows))
            return ox_run_fail(r, err, OX_INPUT,
                               "key_total_sequence_lengths[%zu] is %" PRId64 " of %" PRId64
                               " with %zu new tokens",
                               b, length, all, s->rows);
        s->pasts[b] = prompt ? 0 : (size_t)length - s->rows;
    }
    return OX_OK;
}

static enum ox_status read_blocks(struct ox_run *r, struct sparse *s, struct ox_error *err)
{
    const struct ox_tensor *ends = ox_run_in(r, 5), *columns = ox_run_in(r, 6);
    const int64_t block = ox_run_int(r, "sparse_block_size", 0);
    if (block < 1 || block > INT32_MAX)
        return ox_run_fail(r, err, OX_INPUT, "sparse_block_size is %" PRId64, block);
    if (ends->rank != 2 || columns->rank != 2 || ends->dims[0] < 1 || ends->dims[1] < 2 ||
        columns->dims[0] != ends->dims[0] || s->heads % (size_t)ends->dims[0])
        return ox_run_fail(r, err, OX_INPUT,
                           "block_row_indices and block_col_indices have no row for each layout of "
                           "%zu heads",
                           s->heads);
    s->block = (size_t)block;
    s->layouts = (size_t)ends->dims[0];
    s->blocks = (size_t)ends->dims[1] - 1;
    s->longest = (size_t)columns->dims[1];
    s->row_ends = ends->data;
    s->columns = columns->data;
    for (size_t l = 0; l < s->layouts; l++) {
        const int32_t *end = s->row_ends + l * (s->blocks + 1);
        const int32_t *column = s->columns + l * s->longest;
        bool fits = end[0] == 0 && (size_t)end[s->blocks] <= s->longest;
        for (size_t i = 0; fits && i < s->blocks; i++)
            fits = end[i] <= end[i + 1];
        for (int32_t i = 0; fits && i < end[s->blocks]; i++)
            fits = column[i] >= 0 && (size_t)column[i] < s->blocks;
        if (!fits)
            return ox_run_fail(r, err, OX_INPUT, "layout %zu lists no blocks of %zu x %zu", l,
                               s->blocks, s->blocks);
    }
    return OX_OK;
}

static enum ox_status read_angles(struct ox_run *r, struct sparse *s, struct ox_error *err)
{
    const struct ox_tensor *c = ox_run_in(r, 9), *sine = ox_run_in(r, 10);
    if (!ox_run_int(r, "do_rotary", 0))
        return OX_OK;
    if (!c || !sine || c->rank != 2 || sine->rank != 2 || c->dims[0] != sine->dims[0] ||
        c->dims[1] != sine->dims[1] || 2 * (size_t)c->dims[1] > s->size)
        return ox_run_fail(r, err, OX_INPUT,
                           "cos_cache and sin_cache are no two matrices for heads of %zu", s->size);
    s->half = (size_t)c->dims[1];
    s->interleaved = ox_run_int(r, "rotary_interleaved", 0) != 0;
    for (size_t b = 0; b < s->batch; b++)
        if (s->pasts[b] + s->rows > (size_t)c->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "%zu positions are more than the %" PRId64 " of cos_cache",
                               s->pasts[b] + s->rows, c->dims[0]);
    OX_TRY(ox_real_in(r, 9, &s->cosines, err));
    return ox_real_in(r, 10, &s->sines, err);
}

static void turn(const struct sparse *s, size_t position, double *head)
{
    if (s->cosines)
        ox_attend_rotate(head, s->half, s->interleaved, s->cosines + position * s->half,
                         s->sines + position * s->half);
}

/* Keys or values with what is new, in the memory of what came in where nobody needs that. */
static enum ox_status fill_cache(struct ox_run *r, struct sparse *s, size_t i, double *row,
                                 struct ox_error *err)
{
    const struct ox_tensor *past = s->past[i], *from = i ? s->v : s->k;
    struct ox_tensor *to;
    OX_TRY(ox_run_out_reuse(r, 1 + i, 3 + i, past->dtype, 4, past->dims, &to, err));
    if (to->data != past->data && past->n)
        memcpy(to->data, past->data, past->n * ox_dtype_size(past->dtype));
    s->cache[i] = to;
    for (size_t token = 0; token < s->batch * s->rows; token++) {
        const size_t b = token / s->rows, position = s->pasts[b] + token % s->rows;
        for (size_t h = 0; h < s->kv_heads; h++) {
            ox_real_load(from, token * s->kv_width + (i ? s->v_from : s->k_from) + h * s->size,
                         s->size, row);
            if (i == 0)
                turn(s, position, row);
            ox_real_store(to, ((b * s->kv_heads + h) * s->most + position) * s->size, s->size, row);
        }
    }
    return OX_OK;
}

/* Weights of the keys [0, n) that a row sees. Those of other blocks get what is nothing beside any score, so that a row that sees no
 * block at all takes the mean, as in onnxruntime. */
static void find_weights(const struct sparse *s, size_t head, size_t n, const double *q,
                         const double *keys, double *weights)
{
    const size_t layout = head % s->layouts, row = (n - 1) / s->block;
    const int32_t *end = s->row_ends + layout * (s->blocks + 1) + row;
    const int32_t *columns = s->columns + layout * s->longest;
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        weights[j] = -(double)FLT_MAX;
    for (int32_t i = end[0]; i < end[1]; i++) {
        const size_t from = (size_t)columns[i] * s->block;
        for (size_t j = from; j < n && j < from + s->block; j++)
            weights[j] = ox_dot(q, keys + j * s->size, s->size) * s->scale;
    }
    for (size_t j = 0; j < n; j++)
        most = weights[j] > most || isnan(weights[j]) ? weights[j] : most;
    for (size_t j = 0; j < n; j++) {
        weights[j] =
            weights[j] == -(double)FLT_MAX && most != weights[j] ? 0 : exp(weights[j] - most);
        sum += weights[j];
    }
    for (size_t j = 0; j < n; j++)
        weights[j] /= sum;
}

/* All rows of the heads that share keys and values. */
static void attend_task(void *arg, size_t task)
{
    struct sparse *s = arg;
    const size_t b = task / s->kv_heads, shared = task % s->kv_heads, size = s->size;
    const size_t group = s->heads / s->kv_heads, cols = s->pasts[b] + s->rows;
    const size_t need = 2 * cols * size + 2 * size + cols;
    double *keys = ox_task_alloc(&s->state, need, sizeof *keys);
    if (!keys)
        return;
    double *values = keys + cols * size, *q = values + cols * size, *y = q + size,
           *weights = y + size;
    ox_real_load(s->cache[0], task * s->most * size, cols * size, keys);
    ox_real_load(s->cache[1], task * s->most * size, cols * size, values);
    for (size_t i = 0; i < s->rows * group; i++) {
        const size_t row = i / group, head = shared * group + i % group;
        const size_t token = b * s->rows + row, n = s->pasts[b] + row + 1;
        ox_real_load(s->q, token * s->q_width + head * size, size, q);
        turn(s, n - 1, q);
        find_weights(s, head, n, q, keys, weights);
        memset(y, 0, size * sizeof *y);
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; weights[j] != 0 && k < size; k++)
                y[k] += weights[j] * values[j * size + k];
        ox_real_store(s->y, (token * s->heads + head) * size, size, y);
    }
    ox_task_free(&s->state, keys, need, sizeof *keys);
}

static enum ox_status run_sparse(struct ox_run *r, struct ox_error *err)
{
    struct sparse s = {.q = ox_run_in(r, 0),
                       .k = ox_run_in(r, 1),
                       .v = ox_run_in(r, 2),
                       .past = {ox_run_in(r, 3), ox_run_in(r, 4)}};
    OX_TRY(read_tokens(r, &s, err));
    OX_TRY(read_cache(r, &s, err));
    OX_TRY(read_blocks(r, &s, err));
    OX_TRY(read_lengths(r, &s, err));
    OX_TRY(read_angles(r, &s, err));
    const double scale = (double)ox_run_float(r, "scale", 0);
    s.scale = scale != 0 ? scale : 1 / sqrt((double)s.size);
    double *row = ox_real_scratch(r, s.size, err);
    if (!row)
        return OX_NO_MEMORY;
    OX_TRY(fill_cache(r, &s, 0, row, err));
    OX_TRY(fill_cache(r, &s, 1, row, err));
    const int64_t dims[] = {s.q->dims[0], s.q->dims[1], (int64_t)(s.heads * s.size)};
    OX_TRY(ox_run_out(r, 0, s.q->dtype, 3, dims, &s.y, err));
    s.state.budget = ox_env_budget(r->env);
    ox_parallel(r->env, s.rows ? s.batch * s.kv_heads : 0, attend_task, &s);
    OX_TRY(ox_env_poll(r->env, err));
    return s.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static void infer_sparse(struct ox_infer *c)
{
    const int64_t heads = ox_infer_int_attr(c, "num_heads", 0);
    const int64_t shared = ox_infer_int_attr(c, "kv_num_heads", 0);
    unsigned rank;
    const struct ox_expr *const *q;
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++)
        ox_infer_same(c, i, 2 + i);
    if (!ox_infer_shape(c, 0, &rank, &q) || rank != 3 || heads < 1 || shared < 1)
        return;
    const int64_t all = ox_infer_has(c, 1) ? heads : heads + 2 * shared;
    const struct ox_expr *dims[] = {
        q[0], q[1],
        ox_infer_mul(c, ox_infer_floordiv(c, q[2], ox_infer_num(c, all)), ox_infer_num(c, heads))};
    ox_infer_set_shape(c, 0, 3, dims);
}

const struct ox_op ox_ops_sparse_attention[] = {
    {"com.microsoft", "SparseAttention", 1, .infer = infer_sparse, .run = run_sparse}, {0}};
