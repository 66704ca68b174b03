/* GroupQueryAttention (com.microsoft) in float32, where all sequences are of one length, all keys stay and the heads have neither norms,
 * biases nor sinks. */
#include "ops/contrib_mask.h"
#include "ops/fast.h"
#include "ops/fast_cache.h"
#include "ops/turn_heads.h"

enum { PAST_KEY = 3, PAST_VALUE, LENGTHS, TOTAL, COSINES, SINES, OTHERS };

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

static bool has_options(const struct ox_run *r, size_t keys)
{
    const int64_t window = ox_run_int(r, "local_window_size", -1);
    for (size_t i = OTHERS; i < r->n_in; i++)
        if (ox_run_has(r, i))
            return true;
    return (window >= 0 && (uint64_t)window < keys) || ox_run_int(r, "sliding_window_cache", 0) ||
           ox_run_int(r, "smooth_softmax", -1) > 0 || ox_run_int(r, "qk_output", 0) ||
           ox_run_wants(r, 3) || ox_run_float(r, "softcap", 0) < 0;
}

/* Rows of the past that count, and of what goes out. False: sequences differ, or some of their new rows are padding. */
static bool read_lengths(const struct ox_run *r, const struct ox_heads *h, struct ox_fast_cache *c)
{
    const struct ox_tensor *lengths = ox_run_in(r, LENGTHS), *total = ox_run_in(r, TOTAL);
    const struct ox_tensor *past = ox_run_in(r, PAST_KEY);
    const int64_t added = (int64_t)h->queries;
    if (lengths->n != h->batch || total->n != 1)
        return false;
    const int64_t all = ox_tensor_get_int(total, 0), last = ox_tensor_get_int(lengths, 0);
    for (size_t b = 1; b < h->batch; b++)
        if (ox_tensor_get_int(lengths, b) != last)
            return false;
    if (last < 0 || last >= all || all > (int64_t)1 << 40 || last + 1 < added ||
        (all == added && last + 1 != added))
        return false;
    const int64_t rows = past && past->rank == 4 ? past->dims[2] : 0;
    c->held = (size_t)(last + 1 - added);
    c->rows = (size_t)(rows > all ? rows : all);
    return (int64_t)c->held <= rows;
}

/* Turns heads by the positions from `held` on, into work memory. */
static enum ox_status turn(struct ox_run *r, const struct ox_heads *h, size_t held, size_t heads,
                           struct ox_heads_step *at, const float **x, struct ox_error *err)
{
    const struct ox_tensor *cosines = ox_fast_in(r, COSINES), *sines = ox_fast_in(r, SINES);
    const size_t width = heads * h->depth, tokens = h->batch * h->queries;
    if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2 ||
        cosines->dims[0] != sines->dims[0] || cosines->dims[1] != sines->dims[1] ||
        (size_t)cosines->dims[1] > h->depth / 2 || (size_t)cosines->dims[0] < held + h->queries)
        return OX_UNSUPPORTED;
    struct ox_turn_heads t = {.batch = h->batch,
                              .heads = heads,
                              .rows = h->queries,
                              .size = h->depth,
                              .x_at = *at,
                              .y_at = {h->queries * width, h->depth, width},
                              .x = *x,
                              .cosines = cosines->data,
                              .sines = sines->data,
                              .half = (size_t)cosines->dims[1],
                              .interleaved = ox_run_int(r, "rotary_interleaved", 0) != 0};
    size_t *place = ox_run_scratch(r, tokens, sizeof *place, err);
    if (!place)
        return OX_NO_MEMORY;
    t.y = ox_run_work(r, tokens * width, sizeof *t.y, err);
    if (!t.y)
        return err->status;
    for (size_t i = 0; i < tokens; i++)
        place[i] = (held + i % h->queries) * t.half;
    t.place = place;
    ox_turn_heads(r->env, &t);
    *at = t.y_at;
    *x = t.y;
    return OX_OK;
}

enum ox_status ox_fast_group_query(struct ox_run *r, struct ox_error *err)
{
    struct ox_heads h = {.none_is_0 = true};
    struct ox_fast_cache cache = {.key = PAST_KEY, .value = PAST_VALUE};
    if (!read_heads(r, &h) || !read_lengths(r, &h, &cache) ||
        has_options(r, cache.held + h.queries))
        return OX_UNSUPPORTED;
    h.scale = (float)ox_attend_scale(r, h.depth);
    h.cap = ox_run_float(r, "softcap", 0);
    h.causal = ox_run_int(r, "causal", 1) != 0;
    h.first = (ptrdiff_t)cache.held;
    if (ox_run_int(r, "do_rotary", 0)) {
        OX_TRY(turn(r, &h, cache.held, h.heads, &h.q_at, &h.q, err));
        OX_TRY(turn(r, &h, cache.held, h.kv_heads, &h.k_at, &h.k, err));
    }
    OX_TRY(ox_fast_cache_join(r, &cache, &h, err));
    const size_t width = h.heads * h.v_depth;
    const int64_t dims[3] = {(int64_t)h.batch, (int64_t)h.queries, (int64_t)width};
    h.y_at = (struct ox_heads_step){h.queries * width, h.v_depth, width};
    return ox_fast_cache_attend(r, &h, 3, dims, err);
}
