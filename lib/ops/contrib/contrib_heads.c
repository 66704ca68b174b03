/* MultiHeadAttention and DecoderMaskedMultiHeadAttention: attention over queries, keys and values that come projected. */
#include <inttypes.h>
#include <string.h>

#include "ops/attend.h"
#include "ops/contrib/contrib_mask.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"

/* Where the inputs are that the two operators order differently. */
struct places {
    size_t bias, mask, attention_bias, past_key, past_value, past_length, cache_indirection;
};

static const struct places multi_head = {3, 4, 5, 6, 7, 8, 9};
static const struct places decoder = {10, 3, 4, 5, 6, 7, 9};

/* The past is a buffer that the present takes over. MultiHeadAttention has no attribute to say so: to onnxruntime its input
 * past_sequence_length does. */
static bool shares_buffer(const struct ox_run *r, const struct places *at)
{
    if (!ox_run_has(r, at->past_key))
        return false;
    return at == &decoder ? ox_run_int(r, "past_present_share_buffer", 0) != 0
                          : ox_run_has(r, at->past_length);
}

/* Queries, keys and values as they were given, and how to step through them. */
struct given {
    const double *q, *k, *v;
    struct ox_attend_steps q_at, k_at, v_at;
    size_t new_rows;  /* of keys; 0: they are the past */
    bool heads_first; /* keys come as [batch, heads, rows, size]: the whole of them */
};

/* [batch, rows, heads, 3, size] in one. */
static enum ox_status read_packed_qkv(struct ox_run *r, struct ox_attend *a, struct given *g,
                                      struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0);
    size_t n;
    if (q->dims[3] != 3)
        return ox_run_fail(r, err, OX_INPUT,
                           "the fourth axis of the query has %" PRId64 " elements, not 3",
                           q->dims[3]);
    a->batch = (size_t)q->dims[0];
    a->rows = g->new_rows = (size_t)q->dims[1];
    n = (size_t)q->dims[2];
    a->size = a->v_size = (size_t)q->dims[4];
    if (n != a->heads || a->size == 0)
        return ox_run_fail(r, err, OX_INPUT, "the query has %zu heads of %zu, not %zu", n, a->size,
                           a->heads);
    OX_TRY(ox_real_in(r, 0, &g->q, err));
    g->k = g->q + a->size;
    g->v = g->k + a->size;
    g->q_at = (struct ox_attend_steps){a->rows * n * 3 * a->size, 3 * a->size, n * 3 * a->size};
    g->k_at = g->v_at = g->q_at;
    return OX_OK;
}

/* Keys and values: [batch, rows, width] each, [batch, rows, heads, 2, size] in one, or [batch, heads, rows, size] each. */
static enum ox_status read_keys(struct ox_run *r, struct ox_attend *a, struct given *g,
                                struct ox_error *err)
{
    const struct ox_tensor *k = ox_run_in(r, 1), *v = ox_run_in(r, 2);
    if ((size_t)k->dims[0] != a->batch)
        return ox_run_fail(r, err, OX_INPUT, "the key has %" PRId64 " batches, not %zu", k->dims[0],
                           a->batch);
    OX_TRY(ox_real_in(r, 1, &g->k, err));
    a->v_size = a->size;
    if (k->rank == 5) {
        if (v || k->dims[3] != 2 || (size_t)k->dims[2] != a->heads || (size_t)k->dims[4] != a->size)
            return ox_run_fail(r, err, OX_INPUT, "the packed key does not fit the query");
        g->new_rows = (size_t)k->dims[1];
        g->v = g->k + a->size;
        g->k_at = g->v_at = (struct ox_attend_steps){g->new_rows * a->heads * 2 * a->size,
                                                     2 * a->size, a->heads * 2 * a->size};
        return OX_OK;
    }
    if (!v || k->rank != v->rank || (k->rank != 3 && k->rank != 4) || v->dims[0] != k->dims[0])
        return ox_run_fail(r, err, OX_INPUT, "key and value do not fit each other");
    OX_TRY(ox_real_in(r, 2, &g->v, err));
    if (k->rank == 4) {
        if ((size_t)k->dims[1] != a->heads || v->dims[1] != k->dims[1] ||
            v->dims[2] != k->dims[2] || (size_t)k->dims[3] != a->size)
            return ox_run_fail(r, err, OX_INPUT, "key and value do not fit the query");
        g->new_rows = (size_t)k->dims[2];
        a->v_size = (size_t)v->dims[3];
        g->heads_first = true;
        g->k_at = (struct ox_attend_steps){a->heads * g->new_rows * a->size, g->new_rows * a->size,
                                           a->size};
        g->v_at = (struct ox_attend_steps){a->heads * g->new_rows * a->v_size,
                                           g->new_rows * a->v_size, a->v_size};
        return OX_OK;
    }
    size_t width = (size_t)k->dims[2], v_width = (size_t)v->dims[2];
    if (width != a->heads * a->size || v->dims[1] != k->dims[1] || v_width % a->heads)
        return ox_run_fail(r, err, OX_INPUT, "key and value do not fit the query");
    g->new_rows = (size_t)k->dims[1];
    a->v_size = v_width / a->heads;
    g->k_at = (struct ox_attend_steps){g->new_rows * width, a->size, width};
    g->v_at = (struct ox_attend_steps){g->new_rows * v_width, a->v_size, v_width};
    return OX_OK;
}

static enum ox_status read_given(struct ox_run *r, const struct places *at, struct ox_attend *a,
                                 struct given *g, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *past = ox_run_in(r, at->past_value);
    int64_t heads = ox_run_int(r, "num_heads", 0);
    if (heads < 1)
        return ox_run_fail(r, err, OX_INPUT, "attribute num_heads is %" PRId64, heads);
    a->heads = a->kv_heads = (size_t)heads;
    if (q->rank == 5)
        return read_packed_qkv(r, a, g, err);
    if (q->rank != 3)
        return ox_run_fail(r, err, OX_INPUT, "the query has rank %u, not 3 or 5", q->rank);
    a->batch = (size_t)q->dims[0];
    a->rows = (size_t)q->dims[1];
    size_t width = (size_t)q->dims[2];
    if (!ox_run_has(r, 1) && !past) /* [batch, rows, 3 * heads * size] in one */
        width /= 3;
    OX_TRY(ox_attend_heads(r, "num_heads", width, &a->heads, &a->size, err));
    OX_TRY(ox_real_in(r, 0, &g->q, err));
    g->q_at = (struct ox_attend_steps){a->rows * width, a->size, width};
    if (ox_run_has(r, 1))
        return read_keys(r, a, g, err);
    if (past) {
        a->v_size = past->rank == 4 ? (size_t)past->dims[3] : a->size;
        return OX_OK;
    }
    g->new_rows = a->rows;
    a->v_size = a->size;
    g->k = g->q + width;
    g->v = g->k + width;
    g->q_at = (struct ox_attend_steps){a->rows * 3 * width, a->size, 3 * width};
    g->k_at = g->v_at = g->q_at;
    return OX_OK;
}

/* One of the past's tensors, [batch, heads, rows, size]. */
static enum ox_status read_past(struct ox_run *r, size_t i, const struct ox_attend *a, size_t size,
                                size_t *rows, const double **out, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    *rows = 0;
    if (t) {
        if (t->rank != 4 || (size_t)t->dims[0] != a->batch || (size_t)t->dims[1] != a->heads ||
            (size_t)t->dims[3] != size)
            return ox_run_fail(r, err, OX_INPUT,
                               "the past (rank %u, %zu elements) is not %zu x %zu x past x %zu",
                               t->rank, t->n, a->batch, a->heads, size);
        *rows = (size_t)t->dims[2];
    }
    return ox_real_in(r, i, out, err);
}

/* Where each batch's rows of the past really are, when beams took them over from each other. Of MultiHeadAttention a single token
 * follows them through a shared buffer, as in onnxruntime. */
static enum ox_status follow_beams(struct ox_run *r, const struct places *at, size_t rows,
                                   const struct ox_attend *a, size_t size, size_t stored,
                                   const double *past, double *to, size_t total,
                                   struct ox_error *err)
{
    const struct ox_tensor *beams = ox_run_in(r, at->cache_indirection);
    if (!beams || (at != &decoder && (a->rows != 1 || !shares_buffer(r, at))))
        return OX_OK;
    if (beams->rank != 3 || beams->dims[0] == 0 ||
        a->batch != (size_t)beams->dims[0] * (size_t)beams->dims[1] ||
        (size_t)beams->dims[2] < rows)
        return ox_run_fail(r, err, OX_INPUT, "cache_indirection does not fit %zu batches",
                           a->batch);
    size_t width = (size_t)beams->dims[1];
    for (size_t b = 0; b < a->batch; b++)
        for (size_t t = 0; t < rows; t++) {
            int64_t beam = ox_tensor_get_int(beams, b * (size_t)beams->dims[2] + t);
            if (beam < 0 || (size_t)beam >= width)
                return ox_run_fail(r, err, OX_INPUT,
                                   "cache_indirection names beam %" PRId64 " of %zu", beam, width);
            size_t from = b / width * width + (size_t)beam;
            for (size_t h = 0; h < a->heads; h++)
                memcpy(to + ((b * a->heads + h) * total + t) * size,
                       past + ((from * a->heads + h) * stored + t) * size, size * sizeof *to);
        }
    return OX_OK;
}

/* Keys or values: the past's rows and the new ones behind them. Output i_present holds them, in the past's own length where the
 * buffer is shared. */
static enum ox_status join(struct ox_run *r, const struct places *at, size_t i_past,
                           size_t i_present, const struct ox_attend *a, const struct given *g,
                           bool keys, size_t past_rows, const double *bias, const double **out,
                           struct ox_error *err)
{
    size_t size = keys ? a->size : a->v_size, stored, n;
    const double *past;
    OX_TRY(read_past(r, i_past, a, size, &stored, &past, err));
    n = a->batch * a->heads * a->cols * size;
    double *all = ox_real_scratch(r, n, err);
    if (!all)
        return OX_NO_MEMORY;
    if (past)
        ox_attend_gather(all, a->cols, 0, past,
                         (struct ox_attend_steps){a->heads * stored * size, stored * size, size},
                         a->batch, a->heads, past_rows, size, NULL);
    if (g->new_rows)
        ox_attend_gather(all, a->cols, past_rows, keys ? g->k : g->v, keys ? g->k_at : g->v_at,
                         a->batch, a->heads, g->new_rows, size, bias);
    *out = all;
    if (ox_run_wants(r, i_present)) {
        size_t rows = shares_buffer(r, at) && stored > a->cols ? stored : a->cols;
        const int64_t dims[4] = {(int64_t)a->batch, (int64_t)a->heads, (int64_t)rows,
                                 (int64_t)size};
        double *present = all;
        if (rows != a->cols) {
            present = ox_real_scratch(r, a->batch * a->heads * rows * size, err);
            if (!present)
                return OX_NO_MEMORY;
            memcpy(present, past, a->batch * a->heads * rows * size * sizeof *present);
            ox_attend_gather(
                present, rows, 0, all,
                (struct ox_attend_steps){a->heads * a->cols * size, a->cols * size, size}, a->batch,
                a->heads, a->cols, size, NULL);
        }
        OX_TRY(ox_real_out(r, i_present, ox_run_in(r, 0)->dtype, 4, dims, present, err));
    }
    return past ? follow_beams(r, at, past_rows, a, size, stored, past, all, a->cols, err) : OX_OK;
}

/* Rows of the past that count: all, unless a shared buffer says how many are filled. */
static enum ox_status past_length(struct ox_run *r, const struct places *at, const struct given *g,
                                  size_t *rows, struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, at->past_key);
    const struct ox_tensor *length = ox_run_in(r, at->past_length);
    *rows = past && past->rank == 4 ? (size_t)past->dims[2] : 0;
    if (!past || !length || !shares_buffer(r, at))
        return OX_OK;
    if (length->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "past_sequence_length has %zu elements, not one",
                           length->n);
    int64_t given = ox_tensor_get_int(length, 0);
    if (given < 0 || (size_t)given + g->new_rows > *rows)
        return ox_run_fail(r, err, OX_INPUT,
                           "past_sequence_length is %" PRId64 " in a buffer of %zu rows", given,
                           *rows);
    *rows = (size_t)given;
    return OX_OK;
}

static enum ox_status biased_queries(struct ox_run *r, struct ox_attend *a, const struct given *g,
                                     const double *bias, struct ox_error *err)
{
    double *q = ox_real_scratch(r, a->batch * a->heads * a->rows * a->size, err);
    if (!q)
        return OX_NO_MEMORY;
    ox_attend_gather(q, a->rows, 0, g->q, g->q_at, a->batch, a->heads, a->rows, a->size, bias);
    a->q = q;
    a->q_at = (struct ox_attend_steps){a->heads * a->rows * a->size, a->rows * a->size, a->size};
    return OX_OK;
}

static enum ox_status give_heads(struct ox_run *r, const struct places *at, struct ox_attend *a,
                                 struct ox_error *err)
{
    size_t width = a->heads * a->v_size;
    double *y = ox_real_scratch(r, a->batch * a->rows * width, err);
    if (!y)
        return OX_NO_MEMORY;
    a->y = y;
    a->y_at = (struct ox_attend_steps){a->rows * width, a->v_size, width};
    if (ox_run_wants(r, 3) &&
        !(a->qk = ox_real_scratch(r, a->batch * a->heads * a->rows * a->cols, err)))
        return OX_NO_MEMORY;
    OX_TRY(ox_attend_mask(r, at->mask, a, err));
    OX_TRY(ox_attend_bias(r, at->attention_bias, a, err));
    OX_TRY(ox_attend(r, a, err));
    const int64_t dims[3] = {(int64_t)a->batch, (int64_t)a->rows, (int64_t)width};
    const int64_t qk_dims[4] = {(int64_t)a->batch, (int64_t)a->heads, (int64_t)a->rows,
                                (int64_t)a->cols};
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;
    if (a->qk)
        OX_TRY(ox_real_out(r, 3, dtype, 4, qk_dims, a->qk, err));
    return ox_real_out(r, 0, dtype, 3, dims, y, err);
}

static enum ox_status run_heads(struct ox_run *r, const struct places *at, struct ox_error *err)
{
    struct ox_attend a = {.window = -1};
    struct given g = {0};
    const struct ox_tensor *bias_in = ox_run_in(r, at->bias);
    const double *bias;
    size_t past_rows = 0;
    OX_TRY(read_given(r, at, &a, &g, err));
    OX_TRY(ox_real_in(r, at->bias, &bias, err));
    size_t width = a.heads * a.size;
    if (bias && bias_in->n != 2 * width + a.heads * a.v_size)
        return ox_run_fail(r, err, OX_INPUT, "the bias has %zu elements, not %zu", bias_in->n,
                           2 * width + a.heads * a.v_size);
    OX_TRY(past_length(r, at, &g, &past_rows, err));
    a.cols = past_rows + g.new_rows;
    a.scale = ox_attend_scale(r, a.size);
    bool keyed = bias && !g.heads_first;
    OX_TRY(biased_queries(r, &a, &g, bias, err));
    OX_TRY(join(r, at, at->past_key, 1, &a, &g, true, past_rows, keyed ? bias + width : NULL, &a.k,
                err));
    OX_TRY(join(r, at, at->past_value, 2, &a, &g, false, past_rows, keyed ? bias + 2 * width : NULL,
                &a.v, err));
    a.k_at = (struct ox_attend_steps){a.heads * a.cols * a.size, a.cols * a.size, a.size};
    a.v_at = (struct ox_attend_steps){a.heads * a.cols * a.v_size, a.cols * a.v_size, a.v_size};
    size_t *first = ox_run_scratch(r, a.batch, sizeof *first, err);
    if (!first)
        return OX_NO_MEMORY;
    for (size_t b = 0; b < a.batch; b++)
        first[b] = a.cols > a.rows ? a.cols - a.rows : 0;
    a.first = first;
    a.causal = ox_run_int(r, "unidirectional", 0) != 0;
    return give_heads(r, at, &a, err);
}

static enum ox_status run_multi_head(struct ox_run *r, struct ox_error *err)
{
    return run_heads(r, &multi_head, err);
}

static enum ox_status run_decoder(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0);
    if (q->rank >= 2 && q->dims[1] != 1)
        return ox_run_fail(r, err, OX_INPUT, "the query has %" PRId64 " tokens, not one",
                           q->dims[1]);
    return run_heads(r, &decoder, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_present(struct ox_infer *c, const struct places *at, const struct ox_expr *batch,
                          const struct ox_expr *new_rows)
{
    const struct ox_expr *heads = ox_infer_num(c, ox_infer_int_attr(c, "num_heads", 0));
    bool shared = at == &decoder ? ox_infer_int_attr(c, "past_present_share_buffer", 0) != 0
                                 : ox_infer_has(c, at->past_length);
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++) {
        size_t i_past = i == 1 ? at->past_key : at->past_value;
        unsigned rank;
        const struct ox_expr *const *past;
        ox_infer_same_dtype(c, i, 0);
        if (!ox_infer_has(c, i_past)) {
            const struct ox_expr *width = ox_infer_dim(c, i, 2);
            const struct ox_expr *dims[4] = {batch, heads, new_rows,
                                             ox_infer_floordiv(c, width, heads)};
            unsigned key_rank;
            if (ox_infer_shape(c, i, &key_rank, NULL) && key_rank == 3)
                ox_infer_set_shape(c, i, 4, dims);
        } else if (ox_infer_shape(c, i_past, &rank, &past) && rank == 4) {
            const struct ox_expr *dims[4] = {past[0], past[1], past[2], past[3]};
            if (!shared)
                dims[2] = ox_infer_add(c, past[2], new_rows);
            ox_infer_set_shape(c, i, 4, dims);
        }
    }
}

static void infer_heads(struct ox_infer *c, const struct places *at)
{
    unsigned rank, v_rank;
    const struct ox_expr *const *q;
    const struct ox_expr *const *v;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &q) || (rank != 3 && rank != 5))
        return;
    const struct ox_expr *heads = ox_infer_num(c, ox_infer_int_attr(c, "num_heads", 0));
    const struct ox_expr *dims[3] = {q[0], q[1], NULL}, *rows = q[1];
    if (rank == 5) {
        dims[2] = ox_infer_mul(c, q[2], q[4]);
    } else if (ox_infer_shape(c, 2, &v_rank, &v)) {
        dims[2] = v_rank == 3 ? v[2] : v_rank == 4 ? ox_infer_mul(c, heads, v[3]) : NULL;
        rows = v_rank == 3 ? v[1] : v_rank == 4 ? v[2] : NULL;
    } else if (ox_infer_has(c, 1) || ox_infer_has(c, at->past_value)) {
        dims[2] = q[2];
    } else {
        dims[2] = ox_infer_floordiv(c, q[2], ox_infer_num(c, 3));
    }
    ox_infer_set_shape(c, 0, 3, dims);
    infer_present(c, at, q[0], rows);
}

static void infer_multi_head(struct ox_infer *c)
{
    infer_heads(c, &multi_head);
}

static void infer_decoder(struct ox_infer *c)
{
    infer_heads(c, &decoder);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_heads[] = {
    {MS, "DecoderMaskedMultiHeadAttention", 1, .infer = infer_decoder, .run = run_decoder,
     .fast = ox_fast_decoder_heads},
    {MS, "MultiHeadAttention", 1, .infer = infer_multi_head, .run = run_multi_head,
     .fast = ox_fast_multi_head},
    {0}};
