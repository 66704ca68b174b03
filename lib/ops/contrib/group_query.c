/* GroupQueryAttention and RotaryEmbedding (com.microsoft). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/attend.h"
#include "ops/contrib/contrib_mask.h"
#include "ops/contrib/group_cache.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/turn_heads.h"

/* ---- RotaryEmbedding ---------------------------------------------------------------------------------------------- */

/* Tables of angles: [positions, half] each. */
struct angles {
    const double *cosines, *sines;
    size_t positions, half;
};

static enum ox_status read_sizes(struct ox_run *r, size_t i, struct angles *t, struct ox_error *err)
{
    const struct ox_tensor *c = ox_run_in(r, i), *s = ox_run_in(r, i + 1);
    if (!c || !s || c->rank != 2 || s->rank != 2 || c->dims[0] != s->dims[0] ||
        c->dims[1] != s->dims[1])
        return ox_run_fail(r, err, OX_INPUT, "cos_cache and sin_cache are no two equal matrices");
    t->positions = (size_t)c->dims[0];
    t->half = (size_t)c->dims[1];
    return OX_OK;
}

static enum ox_status read_angles(struct ox_run *r, size_t i, struct angles *t,
                                  struct ox_error *err)
{
    OX_TRY(read_sizes(r, i, t, err));
    OX_TRY(ox_real_in(r, i, &t->cosines, err));
    return ox_real_in(r, i + 1, &t->sines, err);
}

static enum ox_status check_position(struct ox_run *r, const struct angles *t, int64_t position,
                                     struct ox_error *err)
{
    if (position >= 0 && (uint64_t)position < t->positions)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "position %" PRId64 " is outside of the %zu of cos_cache",
                       position, t->positions);
}

/* How the input lies: [batch, rows, heads * size], or [batch, heads, rows, size]. */
static enum ox_status rotary_shape(struct ox_run *r, const struct ox_tensor *x,
                                   const struct angles *t, struct ox_attend *a,
                                   struct ox_error *err)
{
    int64_t heads = ox_run_int(r, "num_heads", 0), part = ox_run_int(r, "rotary_embedding_dim", 0);
    if (x->rank == 4) {
        a->heads = (size_t)x->dims[1];
        a->rows = (size_t)x->dims[2];
        a->size = (size_t)x->dims[3];
        a->q_at =
            (struct ox_attend_steps){a->heads * a->rows * a->size, a->rows * a->size, a->size};
    } else if (x->rank == 3) {
        size_t width = (size_t)x->dims[2];
        if (part > 0 && heads < 1)
            return ox_run_fail(r, err, OX_INPUT, "rotary_embedding_dim needs num_heads");
        a->size = heads > 0 ? width / (size_t)heads : 2 * t->half;
        if (a->size == 0 || width % a->size)
            return ox_run_fail(r, err, OX_INPUT, "%zu columns are no heads of %zu", width, a->size);
        a->heads = width / a->size;
        a->rows = (size_t)x->dims[1];
        a->q_at = (struct ox_attend_steps){a->rows * width, a->size, width};
    } else {
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 3 or 4", x->rank);
    }
    a->batch = (size_t)x->dims[0];
    if (2 * t->half > a->size || (part > 0 && (size_t)part != 2 * t->half))
        return ox_run_fail(r, err, OX_INPUT, "angles for %zu elements of heads of %zu", 2 * t->half,
                           a->size);
    return OX_OK;
}

/* Where the tables have a token's angles. */
static enum ox_status find_places(struct ox_run *r, const struct ox_tensor *ids,
                                  const struct ox_attend *a, const struct angles *t, size_t *place,
                                  struct ox_error *err)
{
    const bool offset = ids->rank == 1 && ids->n == 1;
    for (size_t token = 0; token < a->batch * a->rows; token++) {
        int64_t at = ox_tensor_get_int(ids, offset ? 0 : token);
        if (offset && OX_ADD_OVERFLOWS(at, (int64_t)(token % a->rows), &at))
            at = -1;
        OX_TRY(check_position(r, t, at, err));
        place[token] = (size_t)at * t->half;
    }
    return OX_OK;
}

static enum ox_status turn_floats(struct ox_run *r, const struct ox_attend *a,
                                  const struct angles *t, const size_t *place, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    const struct ox_heads_step at = {a->q_at.batch, a->q_at.head, a->q_at.row};
    struct ox_turn_heads turn = {.batch = a->batch,
                                 .heads = a->heads,
                                 .rows = a->rows,
                                 .size = a->size,
                                 .x_at = at,
                                 .y_at = at,
                                 .x = x->data,
                                 .cosines = ox_run_in(r, 2)->data,
                                 .sines = ox_run_in(r, 3)->data,
                                 .y = y->data,
                                 .place = place,
                                 .half = t->half,
                                 .interleaved = ox_run_int(r, "interleaved", 0) != 0};
    ox_turn_heads(r->env, &turn);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_contrib_rotary(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *ids = ox_run_in(r, 1);
    const struct ox_tensor *cosines = ox_run_in(r, 2), *sines = ox_run_in(r, 3);
    bool interleaved = ox_run_int(r, "interleaved", 0) != 0;
    struct ox_attend a = {0};
    struct angles t;
    OX_TRY(read_sizes(r, 2, &t, err));
    OX_TRY(rotary_shape(r, x, &t, &a, err));
    if (ids->n != a.batch * a.rows && (ids->n != 1 || ids->rank != 1))
        return ox_run_fail(r, err, OX_INPUT, "position_ids has %zu elements for %zu x %zu tokens",
                           ids->n, a.batch, a.rows);
    size_t *place = ox_run_scratch(r, a.batch * a.rows + 1, sizeof *place, err);
    if (!place)
        return OX_NO_MEMORY;
    OX_TRY(find_places(r, ids, &a, &t, place, err));
    if (x->dtype == OX_FLOAT32 && cosines->dtype == OX_FLOAT32 && sines->dtype == OX_FLOAT32)
        return turn_floats(r, &a, &t, place, err);
    double *y = ox_real_scratch(r, x->n, err);
    if (!y)
        return OX_NO_MEMORY;
    OX_TRY(read_angles(r, 2, &t, err));
    ox_real_load(x, 0, x->n, y);
    for (size_t token = 0; token < a.batch * a.rows; token++)
        for (size_t h = 0; h < a.heads; h++)
            ox_attend_rotate(y + token / a.rows * a.q_at.batch + h * a.q_at.head +
                                 token % a.rows * a.q_at.row,
                             t.half, interleaved, t.cosines + place[token], t.sines + place[token]);
    return ox_real_out(r, 0, x->dtype, x->rank, x->dims, y, err);
}

/* ---- GroupQueryAttention ------------------------------------------------------------------------------------------ */

enum { CHUNKS = 16 }; /* query_seqlens */

struct group_query {
    struct ox_attend a;
    const double *q, *k, *v; /* as given */
    struct ox_attend_steps q_at, kv_at;
    size_t *totals, *pasts; /* of each batch: tokens with the new ones, and before them */
    size_t *ends;           /* and the keys among those to attend to */
    struct ox_group_cache cache;
};

static enum ox_status read_group(struct ox_run *r, struct group_query *g, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *k = ox_run_in(r, 1), *v = ox_run_in(r, 2);
    int64_t heads = ox_run_int(r, "num_heads", 0), shared = ox_run_int(r, "kv_num_heads", 0);
    struct ox_attend *a = &g->a;
    if (q->rank != 3 || heads < 1 || shared < 1 || heads % shared || (k == NULL) != (v == NULL))
        return ox_run_fail(r, err, OX_INPUT,
                           "a query of rank %u, %" PRId64 " heads and %" PRId64 " of keys", q->rank,
                           heads, shared);
    a->batch = (size_t)q->dims[0];
    a->rows = (size_t)q->dims[1];
    a->heads = (size_t)heads;
    a->kv_heads = (size_t)shared;
    size_t width = (size_t)q->dims[2], all = k ? a->heads : a->heads + 2 * a->kv_heads;
    if (width == 0 || width % all)
        return ox_run_fail(r, err, OX_INPUT, "%zu columns are no %zu heads", width, all);
    a->size = a->v_size = width / all;
    size_t kv_width = k ? a->kv_heads * a->size : width;
    OX_TRY(ox_real_in(r, 0, &g->q, err));
    g->q_at = (struct ox_attend_steps){a->rows * width, a->size, width};
    g->kv_at = (struct ox_attend_steps){a->rows * kv_width, a->size, kv_width};
    if (!k) {
        g->k = g->q + a->heads * a->size;
        g->v = g->k + a->kv_heads * a->size;
        return OX_OK;
    }
    const int64_t want[3] = {q->dims[0], q->dims[1], (int64_t)kv_width};
    if (k->rank != 3 || v->rank != 3 || memcmp(k->dims, want, sizeof want) != 0 ||
        memcmp(v->dims, want, sizeof want) != 0)
        return ox_run_fail(r, err, OX_INPUT, "key or value is not %zu x %zu x %zu", a->batch,
                           a->rows, kv_width);
    OX_TRY(ox_real_in(r, 1, &g->k, err));
    return ox_real_in(r, 2, &g->v, err);
}

/* Tokens of a batch that the chunk adds, of `rows`; behind them is padding. Input 16 tells, else all that have a place. */
static enum ox_status read_chunk(struct ox_run *r, const struct group_query *g, size_t b,
                                 size_t *fresh, struct ox_error *err)
{
    const struct ox_tensor *chunks = ox_run_in(r, CHUNKS);
    const size_t total = g->totals[b], rows = g->a.rows, most = total < rows ? total : rows;
    *fresh = most;
    if (!chunks)
        return OX_OK;
    const int64_t given = ox_tensor_get_int(chunks, b);
    if (given < 0 || (uint64_t)given > most)
        return ox_run_fail(r, err, OX_INPUT, "query_seqlens[%zu] is %" PRId64 ", not 0 to %zu", b,
                           given, most);
    *fresh = (size_t)given;
    const size_t end = total - *fresh + rows;
    if (!g->cache.window && end > g->cache.out_rows)
        return ox_run_fail(r, err, OX_INPUT,
                           "query_seqlens[%zu]: the chunk ends at %zu of %zu rows of the cache", b,
                           end, g->cache.out_rows);
    return OX_OK;
}

static enum ox_status check_chunks(struct ox_run *r, const struct group_query *g,
                                   struct ox_error *err)
{
    const struct ox_tensor *chunks = ox_run_in(r, CHUNKS);
    if (!chunks)
        return OX_OK;
    if (chunks->rank != 1 || chunks->n != g->a.batch)
        return ox_run_fail(r, err, OX_INPUT, "query_seqlens has %zu elements for %zu batches",
                           chunks->n, g->a.batch);
    if (!ox_run_int(r, "causal", 1) || !ox_run_has(r, 3))
        return ox_run_fail(r, err, OX_INPUT, "query_seqlens without %s",
                           ox_run_has(r, 3) ? "causal" : "a past");
    return OX_OK;
}

/* How many keys each batch has. A prompt (as many rows as keys in all) has no past; its rows beyond a batch's length are
 * padding. */
static enum ox_status read_lengths(struct ox_run *r, struct group_query *g, struct ox_error *err)
{
    const struct ox_tensor *lengths = ox_run_in(r, 5), *total = ox_run_in(r, 6);
    struct ox_group_cache *c = &g->cache;
    size_t batch = g->a.batch, rows = g->a.rows,
           **const lists[] = {&g->totals, &g->pasts, &g->ends, &c->held, &c->fresh, &c->left};
    if (lengths->n != batch || total->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "seqlens_k has %zu elements for %zu batches",
                           lengths->n, batch);
    OX_TRY(check_chunks(r, g, err));
    const bool chunks = ox_run_has(r, CHUNKS);
    int64_t all = ox_tensor_get_int(total, 0);
    if (all < (int64_t)rows && !(chunks && c->window))
        return ox_run_fail(r, err, OX_INPUT,
                           "total_sequence_length is %" PRId64 " for %zu new tokens", all, rows);
    if (all < 1 || all > (int64_t)1 << 40)
        return ox_run_fail(r, err, OX_INPUT, "total_sequence_length is %" PRId64, all);
    bool prompt = all == (int64_t)rows && !chunks;
    for (size_t i = 0; i < OX_COUNT(lists); i++)
        if (!(*lists[i] = ox_run_scratch(r, batch, sizeof **lists[i], err)))
            return OX_NO_MEMORY;
    c->out_rows = c->window || c->rows > (size_t)all ? c->rows : (size_t)all;
    for (size_t b = 0; b < batch; b++) {
        int64_t last = ox_tensor_get_int(lengths, b);
        if (last < 0 || last >= all || (!prompt && !chunks && last + 1 < (int64_t)rows))
            return ox_run_fail(r, err, OX_INPUT,
                               "seqlens_k[%zu] is %" PRId64 ", total_sequence_length %" PRId64, b,
                               last, all);
        g->totals[b] = (size_t)last + 1;
        OX_TRY(read_chunk(r, g, b, &c->fresh[b], err));
        g->pasts[b] = g->totals[b] - c->fresh[b];
        c->held[b] = ox_group_cache_resident(c, g->pasts[b]);
        c->left[b] = ox_group_cache_resident(c, g->totals[b]);
        g->ends[b] = c->held[b] + c->fresh[b];
        if (c->held[b] > c->rows)
            return ox_run_fail(r, err, OX_INPUT,
                               "seqlens_k[%zu] asks for %zu keys of a past of %zu", b, c->held[b],
                               c->rows);
        c->cols = c->held[b] + rows > c->cols ? c->held[b] + rows : c->cols;
    }
    if (!c->window)
        c->cols = c->out_rows;
    c->added = rows;
    c->pads = chunks;
    g->a.cols = c->cols;
    return OX_OK;
}

/* Each head to a root of its mean square of 1, times a weight an element. */
static enum ox_status normalize(struct ox_run *r, bool keys, double *heads, size_t n, size_t size,
                                struct ox_error *err)
{
    const size_t i = keys ? 15 : 14;
    const double *weight;
    const char *own = keys ? "k_norm_epsilon" : "q_norm_epsilon";
    double epsilon = (double)ox_run_float(r, own, ox_run_float(r, "qk_norm_epsilon", 1e-6F));
    if (!ox_run_has(r, i))
        return OX_OK;
    if (ox_run_attr(r, own) && !(epsilon > 0 && isfinite(epsilon)))
        return ox_run_fail(r, err, OX_INPUT, "%s is %g", own, epsilon);
    if (ox_run_in(r, i)->n != size)
        return ox_run_fail(r, err, OX_INPUT, "a norm of %zu weights for heads of %zu",
                           ox_run_in(r, i)->n, size);
    OX_TRY(ox_real_in(r, i, &weight, err));
    for (size_t h = 0; h < n; h++, heads += size) {
        double sum = 0;
        for (size_t k = 0; k < size; k++)
            sum += heads[k] * heads[k];
        double scale = 1 / sqrt(sum / (double)size + epsilon);
        for (size_t k = 0; k < size; k++)
            heads[k] *= scale * weight[k];
    }
    return OX_OK;
}

/* Queries, or the new keys, [batch, heads, rows, size], normalized and rotated where asked. */
static enum ox_status rotated(struct ox_run *r, const struct group_query *g, bool keys,
                              const double **out, struct ox_error *err)
{
    const struct ox_attend *a = &g->a;
    size_t heads = keys ? a->kv_heads : a->heads;
    const struct ox_tensor *ids = ox_run_in(r, 9);
    bool interleaved = ox_run_int(r, "rotary_interleaved", 0) != 0;
    double *all = ox_real_scratch(r, a->batch * heads * a->rows * a->size, err);
    if (!all)
        return OX_NO_MEMORY;
    ox_attend_gather(all, a->rows, 0, keys ? g->k : g->q, keys ? g->kv_at : g->q_at, a->batch,
                     heads, a->rows, a->size, NULL);
    OX_TRY(normalize(r, keys, all, a->batch * heads * a->rows, a->size, err));
    *out = all;
    if (!ox_run_int(r, "do_rotary", 0))
        return OX_OK;
    struct angles t;
    OX_TRY(read_angles(r, 7, &t, err));
    if (2 * t.half > a->size || (ids && ids->n != a->batch * a->rows))
        return ox_run_fail(r, err, OX_INPUT, "cos_cache or position_ids do not fit heads of %zu",
                           a->size);
    for (size_t b = 0; b < a->batch; b++)
        for (size_t row = 0; row < a->rows; row++) {
            int64_t at =
                ids ? ox_tensor_get_int(ids, b * a->rows + row) : (int64_t)(g->pasts[b] + row);
            if (row >= g->cache.fresh[b] && (g->cache.pads || !ids)) /* padding */
                at = at >= 0 && at < (int64_t)t.positions ? at : 0;
            OX_TRY(check_position(r, &t, at, err));
            size_t place = (size_t)at * t.half;
            for (size_t h = 0; h < heads; h++)
                ox_attend_rotate(all + ((b * heads + h) * a->rows + row) * a->size, t.half,
                                 interleaved, t.cosines + place, t.sines + place);
        }
    return OX_OK;
}

/* Output i in the query's type, rounded once: the executor cannot tell a cache's type where none comes in. */
static enum ox_status give(struct ox_run *r, size_t i, unsigned rank, const int64_t *dims,
                           const double *values, struct ox_error *err)
{
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, i, ox_run_in(r, 0)->dtype, rank, dims, &out, err));
    ox_elements_convert(out->dtype, out->data, OX_FLOAT64, values, out->n, true);
    return OX_OK;
}

static enum ox_status group_options(struct ox_run *r, struct group_query *g, struct ox_error *err)
{
    struct ox_attend *a = &g->a;
    const struct ox_tensor *sink = ox_run_in(r, 11);
    a->scale = ox_attend_scale(r, a->size);
    a->softcap = (double)ox_run_float(r, "softcap", 0);
    a->window = ox_run_int(r, "local_window_size", -1);
    a->causal = ox_run_int(r, "causal", 1) != 0;
    a->lengths = g->ends;
    a->first = g->cache.held;
    if (sink && sink->n != a->heads)
        return ox_run_fail(r, err, OX_INPUT, "head_sink has %zu elements for %zu heads", sink->n,
                           a->heads);
    OX_TRY(ox_real_in(r, 11, &a->sink, err));
    if (!a->sink && ox_run_int(r, "smooth_softmax", -1) > 0 &&
        !(a->sink = ox_real_scratch(r, a->heads, err)))
        return OX_NO_MEMORY;
    return OX_OK;
}

/* The columns of a bias are positions: those of the keys that a sliding cache still has. */
static enum ox_status slide_bias(struct ox_run *r, struct group_query *g, struct ox_error *err)
{
    struct ox_attend *a = &g->a;
    double *all = ox_real_scratch(r, a->batch * a->heads * a->rows * a->cols, err);
    if (!all)
        return OX_NO_MEMORY;
    double *to = all;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t row = 0; row < a->rows; row++, to += a->cols)
                memcpy(to,
                       a->bias + b * a->bias_at.batch + h * a->bias_at.head + row * a->bias_at.row +
                           (g->pasts[b] - g->cache.held[b]),
                       g->ends[b] * sizeof *to);
    a->bias = all;
    a->bias_at = (struct ox_attend_steps){a->heads * a->rows * a->cols, a->rows * a->cols, a->cols};
    return OX_OK;
}

/* [1 or batch, 1 or heads, rows, at least the keys in all]. */
static enum ox_status group_bias(struct ox_run *r, struct group_query *g, struct ox_error *err)
{
    const struct ox_tensor *total = ox_run_in(r, 6);
    size_t cols = g->a.cols;
    g->a.cols = (size_t)ox_tensor_get_int(total, 0);
    enum ox_status status = ox_attend_bias(r, 10, &g->a, err);
    g->a.cols = cols;
    if (status != OX_OK || !g->a.bias || !g->cache.window)
        return status;
    return slide_bias(r, g, err);
}

/* [batch, heads, rows, keys in all]. */
static enum ox_status give_scores(struct ox_run *r, const struct group_query *g,
                                  struct ox_error *err)
{
    const struct ox_attend *a = &g->a;
    size_t cols = (size_t)ox_tensor_get_int(ox_run_in(r, 6), 0), n = a->batch * a->heads * a->rows;
    double *all = ox_real_scratch(r, n * cols, err);
    if (!all)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < n; row++)
        memcpy(all + row * cols, a->qk + row * a->cols,
               (cols < a->cols ? cols : a->cols) * sizeof *all);
    const int64_t dims[4] = {(int64_t)a->batch, (int64_t)a->heads, (int64_t)a->rows, (int64_t)cols};
    return give(r, 3, 4, dims, all, err);
}

static enum ox_status run_group_query(struct ox_run *r, struct ox_error *err)
{
    struct group_query g = {0};
    struct ox_attend *a = &g.a;
    const double *new_keys;
    OX_TRY(read_group(r, &g, err));
    g.cache.batch = a->batch;
    g.cache.heads = a->kv_heads;
    g.cache.size = a->size;
    OX_TRY(ox_group_cache_open(r, &g.cache, err));
    OX_TRY(read_lengths(r, &g, err));
    OX_TRY(group_options(r, &g, err));
    OX_TRY(rotated(r, &g, false, &a->q, err));
    OX_TRY(rotated(r, &g, true, &new_keys, err));
    size_t head = a->rows * a->size;
    const struct ox_attend_steps of_keys = {a->kv_heads * head, head, a->size};
    a->q_at = (struct ox_attend_steps){a->heads * head, head, a->size};
    OX_TRY(ox_group_cache_join(r, &g.cache, 0, new_keys, of_keys, &a->k, err));
    OX_TRY(ox_group_cache_join(r, &g.cache, 1, g.v, g.kv_at, &a->v, err));
    a->k_at = a->v_at =
        (struct ox_attend_steps){a->kv_heads * a->cols * a->size, a->cols * a->size, a->size};
    OX_TRY(group_bias(r, &g, err));
    size_t width = a->heads * a->size;
    double *y = ox_real_scratch(r, a->batch * a->rows * width, err);
    if (!y)
        return OX_NO_MEMORY;
    a->y = y;
    a->y_at = (struct ox_attend_steps){a->rows * width, a->size, width};
    int64_t scores = ox_run_int(r, "qk_output", 0);
    if (scores && g.cache.window)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "scores of a sliding cache are not served");
    a->qk_weights = scores == 2;
    if (scores && ox_run_wants(r, 3) &&
        !(a->qk = ox_real_scratch(r, a->batch * a->heads * a->rows * a->cols, err)))
        return OX_NO_MEMORY;
    OX_TRY(ox_attend(r, a, err));
    if (a->qk)
        OX_TRY(give_scores(r, &g, err));
    const int64_t dims[3] = {(int64_t)a->batch, (int64_t)a->rows, (int64_t)width};
    return give(r, 0, 3, dims, y, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_contrib_rotary(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
}

static void infer_group_query(struct ox_infer *c)
{
    unsigned rank, past_rank;
    const struct ox_expr *const *q;
    const struct ox_expr *const *past;
    int64_t heads = ox_infer_int_attr(c, "num_heads", 0);
    int64_t shared = ox_infer_int_attr(c, "kv_num_heads", 0);
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++)
        ox_infer_same_dtype(c, i, ox_infer_has(c, 3) ? 3 : 0);
    ox_infer_same_dtype(c, 3, 0);
    if (!ox_infer_shape(c, 0, &rank, &q) || rank != 3 || heads < 1 || shared < 1)
        return;
    bool packed = !ox_infer_has(c, 1);
    const struct ox_expr *size =
        ox_infer_floordiv(c, q[2], ox_infer_num(c, packed ? heads + 2 * shared : heads));
    const struct ox_expr *dims[3] = {q[0], q[1], ox_infer_mul(c, size, ox_infer_num(c, heads))};
    ox_infer_set_shape(c, 0, 3, dims);
    size_t n;
    const struct ox_expr *const *total;
    const struct ox_expr *rows = ox_infer_values(c, 6, &n, &total) && n == 1 ? total[0] : NULL;
    const struct ox_expr *scores[4] = {q[0], ox_infer_num(c, heads), q[1], rows};
    ox_infer_set_shape(c, 3, 4, scores);
    const struct ox_expr *present[4] = {q[0], ox_infer_num(c, shared), rows, size};
    if (ox_infer_has(c, 3)) {
        bool known = ox_infer_shape(c, 3, &past_rank, &past) && past_rank == 4;
        bool slides = ox_infer_int_attr(c, "sliding_window_cache", 0) != 0;
        present[2] = !known ? NULL : slides ? past[2] : ox_infer_max(c, rows, past[2]);
        present[3] = known ? past[3] : NULL;
    }
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++)
        ox_infer_set_shape(c, i, 4, present);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_group_query[] = {
    {MS, "GroupQueryAttention", 1, OX_OP_HALF, .infer = infer_group_query, .run = run_group_query,
     .fast = ox_fast_group_query},
    {MS, "RotaryEmbedding", 1, .infer = infer_contrib_rotary, .run = run_contrib_rotary},
    {0}};
