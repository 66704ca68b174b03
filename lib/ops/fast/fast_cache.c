#include "ops/fast/fast_cache.h"

#include <string.h>

#include "ops/fast/fast.h"

/* Keys or values of all heads. */
struct joining {
    size_t heads, size;
    const float *past, *fresh;
    size_t past_rows, held, added, rows;
    const size_t *helds;
    bool whole;
    struct ox_heads_step at; /* of the new ones */
    float *to;
};

static void join_heads(void *arg, size_t from, size_t to)
{
    const struct joining *j = arg;
    const size_t bytes = j->size * sizeof(float);
    for (size_t i = from; i < to; i++) {
        const size_t held = j->helds ? j->helds[i / j->heads] : j->held;
        const size_t end = held + j->added, rest = (j->rows - end) * bytes;
        const float *past = held || j->whole ? j->past + i * j->past_rows * j->size : NULL;
        float *row = j->to + i * j->rows * j->size;
        if (held)
            memcpy(row, past, held * bytes);
        ox_heads_copy(j->fresh, &j->at, j->heads, i, j->added, j->size, row + held * j->size);
        if (j->whole)
            memcpy(row + end * j->size, past + end * j->size, rest);
        else
            memset(row + end * j->size, 0, rest);
    }
}

/* At j->to, of which *from and *at are then. */
static void put(struct ox_run *r, size_t batch, struct joining *j, const float **from,
                struct ox_heads_step *at)
{
    j->fresh = *from;
    j->at = *at;
    ox_fast_spread(r->env, batch * j->heads, 1, 0.5 * (double)j->rows * (double)j->size, join_heads,
                   j);
    *from = j->to;
    *at = (struct ox_heads_step){j->heads * j->rows * j->size, j->rows * j->size, j->size};
}

/* Memory for j->to: output i, or work memory. */
static enum ox_status make_room(struct ox_run *r, size_t i, unsigned rank, const int64_t *dims,
                                float **to, struct ox_error *err)
{
    size_t n;
    if (ox_run_wants(r, i)) {
        struct ox_tensor *out;
        OX_TRY(ox_run_out(r, i, OX_FLOAT32, rank, dims, &out, err));
        *to = out->data;
        return OX_OK;
    }
    if (!ox_dims_count(rank, dims, &n))
        return ox_run_fail(r, err, OX_LIMIT, "keys and values are too large");
    *to = ox_run_work(r, n, sizeof **to, err);
    return *to ? OX_OK : err->status;
}

/* Output i, or work memory: heads of `size`, which *from and *at are then those of. */
static enum ox_status join(struct ox_run *r, size_t i, size_t batch, struct joining *j,
                           const struct ox_tensor *past, size_t size, const float **from,
                           struct ox_heads_step *at, struct ox_error *err)
{
    j->size = size;
    j->past = past ? past->data : NULL;
    const int64_t dims[4] = {(int64_t)batch, (int64_t)j->heads, (int64_t)j->rows, (int64_t)j->size};
    OX_TRY(make_room(r, i, 4, dims, &j->to, err));
    put(r, batch, j, from, at);
    return OX_OK;
}

static bool fits(const struct ox_tensor *past, const struct ox_heads *h, size_t size, size_t held)
{
    return past && past->rank == 4 && (size_t)past->dims[0] == h->batch &&
           (size_t)past->dims[1] == h->kv_heads && (size_t)past->dims[2] >= held &&
           (size_t)past->dims[3] == size;
}

enum ox_status ox_fast_cache_join(struct ox_run *r, const struct ox_fast_cache *c,
                                  struct ox_heads *h, struct ox_error *err)
{
    const struct ox_tensor *keys = ox_fast_in(r, c->key), *values = ox_fast_in(r, c->value);
    const bool has = ox_run_has(r, c->key) || ox_run_has(r, c->value);
    const size_t past_rows = keys && keys->rank == 4 ? (size_t)keys->dims[2] : 0;
    const size_t held = c->held < past_rows ? c->held : past_rows;
    if (has && (!fits(keys, h, h->depth, held) || !fits(values, h, h->v_depth, held) ||
                values->dims[2] != keys->dims[2]))
        return OX_UNSUPPORTED;
    struct joining j = {.heads = h->kv_heads,
                        .past_rows = past_rows,
                        .held = held,
                        .helds = c->helds,
                        .whole = c->whole && c->rows <= past_rows,
                        .added = h->keys,
                        .rows = held + h->keys};
    j.rows = j.rows < c->rows ? c->rows : j.rows;
    OX_TRY(join(r, 1, h->batch, &j, keys, h->depth, &h->k, &h->k_at, err));
    OX_TRY(join(r, 2, h->batch, &j, values, h->v_depth, &h->v, &h->v_at, err));
    h->keys += held;
    return OX_OK;
}

bool ox_fast_cache_pair_rows(const struct ox_run *r, size_t i_past, const struct ox_heads *h,
                             size_t *rows)
{
    const struct ox_tensor *past = ox_fast_in(r, i_past);
    *rows = past && past->rank == 5 ? (size_t)past->dims[3] : 0;
    return !ox_run_has(r, i_past) ||
           (past && past->rank == 5 && past->dims[0] == 2 && (size_t)past->dims[1] == h->batch &&
            (size_t)past->dims[2] == h->kv_heads && (size_t)past->dims[4] == h->depth);
}

enum ox_status ox_fast_cache_join_pair(struct ox_run *r, size_t i_past, struct ox_heads *h,
                                       struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, i_past);
    const size_t held = past ? (size_t)past->dims[3] : 0;
    struct joining j = {.heads = h->kv_heads,
                        .size = h->depth,
                        .past = past ? past->data : NULL,
                        .past_rows = held,
                        .held = held,
                        .added = h->keys,
                        .rows = held + h->keys};
    const int64_t dims[5] = {2, (int64_t)h->batch, (int64_t)j.heads, (int64_t)j.rows,
                             (int64_t)j.size};
    OX_TRY(make_room(r, 1, 5, dims, &j.to, err));
    put(r, h->batch, &j, &h->k, &h->k_at);
    j.to += h->batch * h->k_at.batch;
    j.past = past ? j.past + past->n / 2 : NULL;
    put(r, h->batch, &j, &h->v, &h->v_at);
    h->keys = j.rows;
    return OX_OK;
}

enum ox_status ox_fast_cache_decline(struct ox_run *r)
{
    for (size_t i = 1; i <= 2; i++) {
        if (!ox_run_wants(r, i))
            continue;
        ox_datum_release(r->out[i]);
        r->out[i] = NULL;
    }
    return OX_UNSUPPORTED;
}

enum ox_status ox_fast_cache_attend(struct ox_run *r, struct ox_heads *h, unsigned rank,
                                    const int64_t *dims, struct ox_error *err)
{
    const enum ox_status status = ox_heads_out(r, h, rank, dims, err);
    return status == OX_UNSUPPORTED ? ox_fast_cache_decline(r) : status;
}
