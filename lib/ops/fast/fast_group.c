/* GroupQueryAttention (com.microsoft) in float32, where all keys stay as they are and the heads have no norms. */
#include "ops/contrib/contrib_mask.h"
#include "ops/fast/fast.h"
#include "ops/fast/fast_cache.h"
#include "ops/turn_heads.h"

enum { PAST_KEY = 3, PAST_VALUE, LENGTHS, TOTAL, COSINES, SINES, PLACES, BIAS, SINK, OTHERS };

/* Queries, keys and values, each to itself or all in one. */
static bool read_heads(struct ox_run *r, struct ox_heads *h)
{
    const struct ox_tensor *q = ox_fast_in(r, 0), *k = ox_fast_in(r, 1), *v = ox_fast_in(r, 2);
    const int64_t heads = ox_run_int(r, "num_heads", 0), shared = ox_run_int(r, "kv_num_heads", 0);
    const bool packed = !ox_run_has(r, 1) && !ox_run_has(r, 2);
    if (!q || q->rank != 3 || !q->n || heads < 1 || heads > q->dims[2] || shared < 1 ||
        heads % shared)
        return false;
    const size_t width = (size_t)q->dims[2];
    const size_t all = (size_t)heads + (packed ? 2 * (size_t)shared : 0);
    if (width % all)
        return false;
    h->batch = (size_t)q->dims[0];
    h->heads = (size_t)heads;
    h->kv_heads = (size_t)shared;
    h->queries = h->keys = (size_t)q->dims[1];
    h->depth = h->v_depth = width / all;
    h->q = q->data;
    h->q_at = (struct ox_heads_step){h->queries * width, h->depth, width};
    const size_t kv_width = packed ? width : h->kv_heads * h->depth;
    h->k_at = h->v_at = (struct ox_heads_step){h->keys * kv_width, h->depth, kv_width};
    if (packed) {
        h->k = h->q + h->heads * h->depth;
        h->v = h->k + h->kv_heads * h->depth;
        return true;
    }
    const size_t n = h->batch * h->keys * kv_width;
    if (!k || !v || k->rank != 3 || v->rank != 3 || k->n != n || v->n != n ||
        k->dims[1] != q->dims[1] || v->dims[1] != q->dims[1] || k->dims[0] != q->dims[0] ||
        v->dims[0] != q->dims[0])
        return false;
    h->k = k->data;
    h->v = v->data;
    return true;
}

static bool has_options(const struct ox_run *r)
{
    for (size_t i = OTHERS; i < r->n_in; i++)
        if (ox_run_has(r, i))
            return true;
    return ox_run_int(r, "local_window_size", -1) == 0 ||
           ox_run_int(r, "sliding_window_cache", 0) || ox_run_int(r, "qk_output", 0) ||
           ox_run_wants(r, 3) || ox_run_float(r, "softcap", 0) < 0;
}

/* Rows of the past that count in each batch, its keys, and the rows of what goes out. New rows beyond a prompt's length are padding.
 * OX_UNSUPPORTED: they do not fit, which the reference tells of. */
static enum ox_status read_lengths(struct ox_run *r, struct ox_heads *h, struct ox_fast_cache *c,
                                   struct ox_error *err)
{
    const struct ox_tensor *lengths = ox_run_in(r, LENGTHS), *total = ox_run_in(r, TOTAL);
    const struct ox_tensor *past = ox_run_in(r, PAST_KEY);
    const int64_t added = (int64_t)h->queries, rows = past && past->rank == 4 ? past->dims[2] : 0;
    size_t *held = ox_run_scratch(r, h->batch, sizeof *held, err),
           *ends = held ? ox_run_scratch(r, h->batch, sizeof *ends, err) : NULL;
    if (!ends)
        return OX_NO_MEMORY;
    if (lengths->n != h->batch || total->n != 1)
        return OX_UNSUPPORTED;
    const int64_t all = ox_tensor_get_int(total, 0);
    if (all < added || all > (int64_t)1 << 40)
        return OX_UNSUPPORTED;
    const bool prompt = all == added;
    for (size_t b = 0; b < h->batch; b++) {
        const int64_t keys = ox_tensor_get_int(lengths, b) + 1, old = prompt ? 0 : keys - added;
        if (keys < 1 || keys > all || old < 0 || old > rows)
            return OX_UNSUPPORTED;
        held[b] = (size_t)old;
        ends[b] = (size_t)keys;
        c->held = held[b] > c->held ? held[b] : c->held;
    }
    c->helds = h->firsts = held;
    c->rows = (size_t)(rows > all ? rows : all);
    h->ends = ends;
    return OX_OK;
}

/* Where the tables have each token's angles. */
static enum ox_status find_places(struct ox_run *r, const struct ox_heads *h, size_t positions,
                                  size_t half, size_t *place)
{
    const struct ox_tensor *ids = ox_run_in(r, PLACES);
    if (ids && ids->n != h->batch * h->queries)
        return OX_UNSUPPORTED;
    for (size_t i = 0; i < h->batch * h->queries; i++) {
        const size_t b = i / h->queries, row = i % h->queries;
        int64_t at = ids ? ox_tensor_get_int(ids, i) : (int64_t)(h->firsts[b] + row);
        if (!ids && h->firsts[b] + row >= h->ends[b] && at >= (int64_t)positions)
            at = 0; /* padding */
        if (at < 0 || (uint64_t)at >= positions)
            return OX_UNSUPPORTED;
        place[i] = (size_t)at * half;
    }
    return OX_OK;
}

/* Turns heads by their angles, into work memory. */
static enum ox_status turn(struct ox_run *r, struct ox_turn_heads *t, size_t heads,
                           struct ox_heads_step *at, const float **x, struct ox_error *err)
{
    const size_t width = heads * t->size;
    float *y = ox_run_work(r, t->batch * t->rows * width, sizeof *y, err);
    if (!y)
        return err->status;
    t->heads = heads;
    t->x_at = *at;
    t->y_at = (struct ox_heads_step){t->rows * width, t->size, width};
    t->x = *x;
    t->y = y;
    ox_turn_heads(r->env, t);
    *at = t->y_at;
    *x = y;
    return OX_OK;
}

static enum ox_status turn_both(struct ox_run *r, struct ox_heads *h, struct ox_error *err)
{
    const struct ox_tensor *cosines = ox_fast_in(r, COSINES), *sines = ox_fast_in(r, SINES);
    if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2 ||
        cosines->dims[0] != sines->dims[0] || cosines->dims[1] != sines->dims[1] ||
        (size_t)cosines->dims[1] > h->depth / 2)
        return OX_UNSUPPORTED;
    struct ox_turn_heads t = {.batch = h->batch,
                              .rows = h->queries,
                              .size = h->depth,
                              .cosines = cosines->data,
                              .sines = sines->data,
                              .half = (size_t)cosines->dims[1],
                              .interleaved = ox_run_int(r, "rotary_interleaved", 0) != 0};
    size_t *place = ox_run_scratch(r, h->batch * h->queries, sizeof *place, err);
    if (!place)
        return OX_NO_MEMORY;
    OX_TRY(find_places(r, h, (size_t)cosines->dims[0], t.half, place));
    t.place = place;
    OX_TRY(turn(r, &t, h->heads, &h->q_at, &h->q, err));
    return turn(r, &t, h->kv_heads, &h->k_at, &h->k, err);
}

/* [1 or batch, 1 or heads, queries, at least the keys in all]. */
static bool set_bias(const struct ox_run *r, struct ox_heads *h)
{
    const struct ox_tensor *bias = ox_fast_in(r, BIAS);
    if (!ox_run_has(r, BIAS))
        return true;
    if (!bias || bias->rank != 4 || (bias->dims[0] != 1 && (size_t)bias->dims[0] != h->batch) ||
        (bias->dims[1] != 1 && (size_t)bias->dims[1] != h->heads) ||
        (size_t)bias->dims[2] != h->queries ||
        bias->dims[3] < ox_tensor_get_int(ox_run_in(r, TOTAL), 0))
        return false;
    const size_t row = (size_t)bias->dims[3], head = h->queries * row;
    h->mask = bias->data;
    h->mask_at = (struct ox_heads_step){bias->dims[0] == 1 ? 0 : (size_t)bias->dims[1] * head,
                                        bias->dims[1] == 1 ? 0 : head, row};
    h->mask_key_step = 1;
    return true;
}

static enum ox_status set_sinks(struct ox_run *r, struct ox_heads *h, struct ox_error *err)
{
    const struct ox_tensor *sinks = ox_fast_in(r, SINK);
    if (ox_run_has(r, SINK)) {
        h->sinks = sinks && sinks->n == h->heads ? sinks->data : NULL;
        return h->sinks ? OX_OK : OX_UNSUPPORTED;
    }
    if (ox_run_int(r, "smooth_softmax", -1) <= 0)
        return OX_OK;
    float *zeros = ox_run_scratch(r, h->heads, sizeof *zeros, err);
    if (!zeros)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < h->heads; i++)
        zeros[i] = 0;
    h->sinks = zeros;
    return OX_OK;
}

enum ox_status ox_fast_group_query(struct ox_run *r, struct ox_error *err)
{
    struct ox_heads h = {.none_is_0 = true};
    struct ox_fast_cache cache = {.key = PAST_KEY, .value = PAST_VALUE};
    if (!read_heads(r, &h) || has_options(r))
        return OX_UNSUPPORTED;
    OX_TRY(set_sinks(r, &h, err));
    OX_TRY(read_lengths(r, &h, &cache, err));
    if (!set_bias(r, &h))
        return OX_UNSUPPORTED;
    const int64_t window = ox_run_int(r, "local_window_size", -1);
    h.scale = (float)ox_attend_scale(r, h.depth);
    h.cap = ox_run_float(r, "softcap", 0);
    h.causal = ox_run_int(r, "causal", 1) != 0;
    h.window = h.causal && window > 0 ? (size_t)window : 0;
    if (ox_run_int(r, "do_rotary", 0))
        OX_TRY(turn_both(r, &h, err));
    OX_TRY(ox_fast_cache_join(r, &cache, &h, err));
    const size_t width = h.heads * h.v_depth;
    const int64_t dims[3] = {(int64_t)h.batch, (int64_t)h.queries, (int64_t)width};
    h.y_at = (struct ox_heads_step){h.queries * width, h.v_depth, width};
    return ox_fast_cache_attend(r, &h, 3, dims, err);
}
