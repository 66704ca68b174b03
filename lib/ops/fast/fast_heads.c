/* MultiHeadAttention and Attention of com.microsoft in float32, with a past too, which beams have not mixed. */
#include "kernels/dense.h"
#include "ops/contrib/contrib_mask.h"
#include "ops/fast/attend_fast.h"
#include "ops/fast/fast.h"
#include "ops/fast/fast_cache.h"

/* A mask of keys in the numbers that it adds to scores. */
static enum ox_status number_mask(struct ox_run *r, size_t i, struct ox_heads *h,
                                  struct ox_error *err)
{
    struct ox_attend a = {.batch = h->batch, .rows = h->queries, .cols = h->keys};
    if (ox_run_in(r, i)->rank > 3 || ox_attend_mask(r, i, &a, err) != OX_OK)
        return OX_UNSUPPORTED;
    const size_t n = h->batch * (a.mask_at.row ? h->queries : 1) * h->keys;
    float *mask = ox_run_work(r, n, sizeof *mask, err);
    if (!mask)
        return err->status;
    for (size_t k = 0; k < n; k++)
        mask[k] = (float)a.mask[k];
    h->mask = mask;
    h->mask_at = (struct ox_heads_step){a.mask_at.batch, 0, a.mask_at.row};
    h->mask_key_step = 1;
    return OX_OK;
}

static enum ox_status set_masks(struct ox_run *r, size_t i_mask, size_t i_bias, struct ox_heads *h,
                                struct ox_error *err)
{
    const struct ox_tensor *bias = ox_run_in(r, i_bias);
    if (!bias)
        return ox_run_has(r, i_mask) ? number_mask(r, i_mask, h, err) : OX_OK;
    const bool fits = !ox_run_has(r, i_mask) && bias->dtype == OX_FLOAT32 && bias->rank == 4 &&
                      (size_t)bias->dims[2] == h->queries && (size_t)bias->dims[3] == h->keys &&
                      ox_heads_mask(h, bias);
    return fits ? OX_OK : OX_UNSUPPORTED;
}

/* Attention over heads whose place in q, k and v is known, to [batch, queries, heads * v_depth]. */
static enum ox_status attend(struct ox_run *r, struct ox_heads *h, struct ox_error *err)
{
    const size_t width = h->heads * h->v_depth;
    const int64_t dims[3] = {(int64_t)h->batch, (int64_t)h->queries, (int64_t)width};
    h->kv_heads = h->heads;
    h->scale = (float)ox_attend_scale(r, h->depth);
    h->causal = ox_run_int(r, "unidirectional", 0) != 0;
    h->first = h->keys > h->queries ? (ptrdiff_t)(h->keys - h->queries) : 0;
    h->y_at = (struct ox_heads_step){h->queries * width, h->v_depth, width};
    return ox_fast_cache_attend(r, h, 3, dims, err);
}

static bool has_any(const struct ox_run *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (ox_run_has(r, i))
            return true;
    }
    return false;
}

/* ---- MultiHeadAttention ------------------------------------------------------------------------------------------ */

/* The step from row to row is the width. */
static struct ox_heads_step steps(size_t rows, size_t width, size_t heads)
{
    return (struct ox_heads_step){rows * width, width / heads, width};
}

struct biasing {
    const float *x, *bias;
    float *y;
    size_t n;
};

static void bias_rows(void *arg, size_t from, size_t to)
{
    const struct biasing *b = arg;
    for (size_t i = from; i < to; i++)
        ox_fast_rows()->binary[OX_BINARY_ADD][OX_ROW_BOTH](b->n, b->x + i * b->n, b->bias,
                                                           b->y + i * b->n);
}

static enum ox_status add_bias(struct ox_run *r, const struct ox_tensor *x, const float *bias,
                               const float **out, struct ox_error *err)
{
    float *y = ox_run_work(r, x->n, sizeof *y, err);
    struct biasing b = {x->data, bias, y, (size_t)x->dims[2]};
    if (!y)
        return err->status;
    ox_fast_spread(r->env, x->n / b.n, 16, 0.2 * (double)b.n, bias_rows, &b);
    *out = y;
    return OX_OK;
}

/* Inputs behind query, key and value; `rest`: what is not served from there on to `end`. */
struct places {
    size_t bias, mask, attention_bias, past_key, past_value, past_length, rest, end;
    bool
        shared; /* the past is a buffer of which past_length rows are filled: what goes out is all of it */
};

/* How much of the past counts. false: it does not fit. */
static bool read_past(const struct ox_run *r, const struct places *at, const struct ox_heads *h,
                      struct ox_fast_cache *c)
{
    const struct ox_tensor *past = ox_fast_in(r, at->past_key),
                           *length = ox_run_in(r, at->past_length);
    *c = (struct ox_fast_cache){.key = at->past_key, .value = at->past_value, .held = SIZE_MAX};
    if (!at->shared || !length || !ox_run_has(r, at->past_key))
        return true;
    if (!past || past->rank != 4 || length->n != 1)
        return false;
    const int64_t held = ox_tensor_get_int(length, 0);
    if (held < 0 || held > past->dims[2] || h->keys > (size_t)(past->dims[2] - held))
        return false;
    c->held = (size_t)held;
    c->rows = (size_t)past->dims[2];
    c->whole = true;
    return true;
}

/* A bias of keys and values is not that of those that come as heads. */
static enum ox_status set_bias(struct ox_run *r, size_t i_bias, bool keyed, struct ox_heads *h,
                               struct ox_error *err)
{
    const struct ox_tensor *bias = ox_run_in(r, i_bias), *q = ox_run_in(r, 0);
    const size_t width = h->heads * h->depth;
    if (!bias)
        return OX_OK;
    if (bias->dtype != OX_FLOAT32 || bias->n != 2 * width + h->heads * h->v_depth)
        return OX_UNSUPPORTED;
    const float *x = bias->data;
    OX_TRY(add_bias(r, q, x, &h->q, err));
    if (!keyed)
        return OX_OK;
    OX_TRY(add_bias(r, ox_run_in(r, 1), x + width, &h->k, err));
    return add_bias(r, ox_run_in(r, 2), x + 2 * width, &h->v, err);
}

/* Keys or values: [batch, rows, heads * size] or [batch, heads, rows, size]. False: neither. */
static bool read_keys(const struct ox_tensor *x, const struct ox_heads *h, size_t *rows,
                      size_t *size, struct ox_heads_step *at)
{
    if (!x || !x->n || (size_t)x->dims[0] != h->batch)
        return false;
    if (x->rank == 3) {
        *rows = (size_t)x->dims[1];
        *size = (size_t)x->dims[2] / h->heads;
        *at = steps(*rows, *size * h->heads, h->heads);
        return (size_t)x->dims[2] == *size * h->heads;
    }
    if (x->rank != 4 || (size_t)x->dims[1] != h->heads)
        return false;
    *rows = (size_t)x->dims[2];
    *size = (size_t)x->dims[3];
    *at = (struct ox_heads_step){h->heads * *rows * *size, *rows * *size, *size};
    return true;
}

static enum ox_status multi_head(struct ox_run *r, const struct places *at, struct ox_error *err)
{
    const struct ox_tensor *q = ox_fast_in(r, 0), *k = ox_fast_in(r, 1), *v = ox_fast_in(r, 2);
    const int64_t heads = ox_run_int(r, "num_heads", 0);
    if (!q || !k || !v || q->rank != 3 || k->rank != v->rank || has_any(r, at->rest, at->end) ||
        ox_run_wants(r, 3) || heads < 1 || !q->n || q->dims[2] % heads)
        return OX_UNSUPPORTED;
    struct ox_heads h = {.batch = (size_t)q->dims[0],
                         .heads = (size_t)heads,
                         .kv_heads = (size_t)heads,
                         .queries = (size_t)q->dims[1],
                         .q = q->data,
                         .k = k->data,
                         .v = v->data};
    size_t depth, rows;
    if (!read_keys(k, &h, &h.keys, &depth, &h.k_at) ||
        !read_keys(v, &h, &rows, &h.v_depth, &h.v_at) || rows != h.keys ||
        depth != (size_t)(q->dims[2] / heads))
        return OX_UNSUPPORTED;
    h.depth = depth;
    h.q_at = steps(h.queries, h.heads * h.depth, h.heads);
    struct ox_fast_cache cache;
    if (!read_past(r, at, &h, &cache))
        return OX_UNSUPPORTED;
    OX_TRY(set_bias(r, at->bias, k->rank == 3, &h, err));
    if (has_any(r, cache.key, cache.value + 1) || ox_run_wants(r, 1) || ox_run_wants(r, 2))
        OX_TRY(ox_fast_cache_join(r, &cache, &h, err));
    const enum ox_status status = set_masks(r, at->mask, at->attention_bias, &h, err);
    if (status == OX_UNSUPPORTED)
        return ox_fast_cache_decline(r);
    return status == OX_OK ? attend(r, &h, err) : status;
}

enum ox_status ox_fast_multi_head(struct ox_run *r, struct ox_error *err)
{
    return multi_head(r, &(struct places){3, 4, 5, 6, 7, 8, 9, r->n_in, true}, err);
}

enum ox_status ox_fast_decoder_heads(struct ox_run *r, struct ox_error *err)
{
    enum { LENGTH = 7, BEAM_WIDTH, BEAMS, BIAS };
    const struct ox_tensor *q = ox_run_in(r, 0);
    if (q->rank != 3 || q->dims[1] != 1)
        return OX_UNSUPPORTED;
    const bool shared = ox_run_int(r, "past_present_share_buffer", 0) != 0;
    return multi_head(r, &(struct places){BIAS, 3, 4, 5, 6, LENGTH, BEAMS, BIAS, shared}, err);
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

/* Packs weights that are the same at every run. They stay as they were beside that: what the fast form declines reads them. */
enum ox_status ox_prepare_projected_heads(struct ox_run *r, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const struct ox_tensor *x = ox_fast_in(r, 0), *w = ox_fast_in(r, 1);
    if (r->once || !r->fixed[1] || !x || !w || w->rank != 2 || !w->n)
        return OX_OK;
    const size_t k = (size_t)w->dims[0], n = (size_t)w->dims[1], floats = ox_dense_packed(t, k, n);
    if (ox_dense_wants_unpacked(t, x->n / k, n, k, n, 1)) {
        r->prepared->again = true; /* there may be more rows next time */
        return OX_OK;
    }
    if (floats > SIZE_MAX / sizeof(float))
        return OX_OK;
    float *packed = ox_run_keep(r, floats * sizeof *packed, err);
    if (!packed)
        return err->status;
    ox_dense_pack(t, r->env, k, n, w->data, OX_WEIGHT_F32, n, 1, packed);
    return OX_OK;
}

/* Columns that queries have, as many as keys, and values, of all. false: not those of that many heads. */
static bool read_widths(const struct ox_run *r, size_t all, size_t heads, size_t *q, size_t *v)
{
    size_t n;
    const int64_t *sizes = ox_run_ints(r, "qkv_hidden_sizes", &n);
    const bool equal = n == 0;
    if (!equal && (n != 3 || sizes[0] < 1 || sizes[0] != sizes[1] || (size_t)sizes[0] >= all / 2))
        return false;
    *q = equal ? all / 3 : (size_t)sizes[0];
    *v = all - 2 * *q;
    return *q % heads == 0 && *v % heads == 0 && (equal ? *v == *q : (int64_t)*v == sizes[2]);
}

enum ox_status ox_fast_projected_heads(struct ox_run *r, struct ox_error *err)
{
    enum { PAST = 4 };
    const struct ox_tensor *x = ox_fast_in(r, 0), *w = ox_fast_in(r, 1), *bias = ox_run_in(r, 2);
    const int64_t heads = ox_run_int(r, "num_heads", 0);
    if (!x || !w || x->rank != 3 || w->rank != 2 || !x->n || !w->n || w->dims[0] != x->dims[2] ||
        heads < 1 || ox_run_int(r, "do_rotary", 0) ||
        ox_run_int(r, "past_present_share_buffer", 0) || has_any(r, 6, r->n_in) ||
        (bias && (bias->dtype != OX_FLOAT32 || bias->rank != 1 || bias->dims[0] != w->dims[1])))
        return OX_UNSUPPORTED;
    const size_t rows = (size_t)(x->dims[0] * x->dims[1]), all = (size_t)w->dims[1];
    const bool paired = ox_run_has(r, PAST) || ox_run_wants(r, 1);
    size_t n, held, q_width, v_width;
    if (!read_widths(r, all, (size_t)heads, &q_width, &v_width) || (paired && q_width != v_width))
        return OX_UNSUPPORTED;
    struct ox_heads h = {.batch = (size_t)x->dims[0],
                         .heads = (size_t)heads,
                         .kv_heads = (size_t)heads,
                         .queries = (size_t)x->dims[1],
                         .keys = (size_t)x->dims[1],
                         .depth = q_width / (size_t)heads,
                         .v_depth = v_width / (size_t)heads};
    if (OX_MUL_OVERFLOWS(rows, all, &n) || !ox_fast_cache_pair_rows(r, PAST, &h, &held))
        return OX_UNSUPPORTED;
    float *projected = ox_run_work(r, n, sizeof *projected, err);
    if (!projected)
        return err->status;
    h.keys += held;
    OX_TRY(set_masks(r, 3, 5, &h, err));
    h.keys -= held;
    struct ox_dense d = {.m = rows,
                         .n = all,
                         .k = (size_t)x->dims[2],
                         .a = x->data,
                         .a_row = (size_t)x->dims[2],
                         .a_col = 1,
                         .packed = ox_run_state(r),
                         .b = w->data,
                         .b_row = all,
                         .b_col = 1,
                         .c = projected,
                         .c_row = all,
                         .end = {.scale = 1, .col_bias = bias ? bias->data : NULL}};
    OX_TRY(ox_fast_product(r, &d, err));
    h.q = projected;
    h.k = projected + q_width;
    h.v = h.k + q_width;
    h.q_at = h.k_at = (struct ox_heads_step){h.queries * all, h.depth, all};
    h.v_at = (struct ox_heads_step){h.queries * all, h.v_depth, all};
    if (paired)
        OX_TRY(ox_fast_cache_join_pair(r, PAST, &h, err));
    return attend(r, &h, err);
}
