/* Attention (23) in float32, where it does not ask for scores. */
#include <math.h>

#include "ops/fast/attend_fast.h"
#include "ops/fast/fast.h"
#include "ops/fast/fast_cache.h"

/* Heads, rows and steps of an input of rank 4, [batch, heads, rows, size], or 3, [batch, rows, heads * size]. */
static bool read_heads(const struct ox_tensor *in, int64_t heads, size_t *n_heads, size_t *rows,
                       size_t *size, struct ox_heads_step *at)
{
    const bool flat = in->rank == 3;
    int64_t n = flat ? heads : in->dims[1];
    if (n < 1 || (flat && in->dims[2] % n != 0))
        return false;
    *n_heads = (size_t)n;
    *rows = (size_t)in->dims[flat ? 1 : 2];
    *size = (size_t)(flat ? in->dims[2] / n : in->dims[3]);
    at->row = flat ? (size_t)in->dims[2] : *size;
    at->head = flat ? *size : *rows * *size;
    at->batch = *n_heads * *rows * *size;
    return true;
}

/* One with fewer columns than keys, be it one, ends in -infinity and is not for here. Of truth values it is made in numbers to
 * add: 0 and -infinity. */
static enum ox_status set_mask(struct ox_run *r, struct ox_heads *h, bool *fits,
                               struct ox_error *err)
{
    const struct ox_tensor *mask = ox_run_in(r, 3);
    *fits =
        !mask || (mask->rank && (size_t)mask->dims[mask->rank - 1] == h->keys &&
                  ox_heads_mask(h, mask) && (mask->dtype == OX_FLOAT32 || mask->dtype == OX_BOOL));
    if (!mask || !*fits || mask->dtype == OX_FLOAT32)
        return OX_OK;
    float *numbers = ox_run_work(r, mask->n, sizeof *numbers, err);
    const uint8_t *truths = mask->data;
    if (!numbers)
        return err->status;
    for (size_t i = 0; i < mask->n; i++)
        numbers[i] = truths[i] ? 0 : -INFINITY;
    h->mask = numbers;
    return OX_OK;
}

/* What a query must not look at is left out here, but 0 times infinity is no number in the standard's function. Where its place alone hides
 * a key that is none of those a cache held before. */
static bool hides_numbers_alone(const struct ox_heads *h, const struct ox_tensor *k,
                                const struct ox_tensor *v, const struct ox_tensor *mask)
{
    if (h->queries == 1 || (!h->mask && !h->causal))
        return true;
    if (h->mask && !h->causal && mask->dtype == OX_FLOAT32 && mask->n < k->n &&
        ox_fast_finite(mask->n, mask->data)) /* it hides nothing */
        return true;
    if (!h->mask)
        return ox_fast_finite(k->n, k->data) && ox_fast_finite(v->n, v->data);
    return ox_fast_finite(h->batch * h->k_at.batch, h->k) &&
           ox_fast_finite(h->batch * h->v_at.batch, h->v);
}

enum ox_status ox_fast_attention(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *q = ox_fast_in(r, 0), *k = ox_fast_in(r, 1), *v = ox_fast_in(r, 2);
    struct ox_heads h = {.none_is_0 = true};
    size_t heads, keys, size;
    if (!q || !k || !v || (q->rank != 3 && q->rank != 4) || k->rank != q->rank ||
        v->rank != q->rank || k->dims[0] != q->dims[0] || v->dims[0] != q->dims[0] ||
        ox_run_wants(r, 3) || ox_run_has(r, 6) || ox_run_int(r, "left_window_size", -1) >= 0 ||
        ox_run_int(r, "right_window_size", -1) >= 0 || ox_run_attr(r, "softmax_precision"))
        return OX_UNSUPPORTED;
    const int64_t kv = ox_run_int(r, "kv_num_heads", 0);
    const int64_t mode = ox_run_int(r, "qk_matmul_output_mode", 0);
    if (!read_heads(q, ox_run_int(r, "q_num_heads", 0), &h.heads, &h.queries, &h.depth, &h.q_at) ||
        !read_heads(k, kv, &h.kv_heads, &h.keys, &size, &h.k_at) ||
        !read_heads(v, kv, &heads, &keys, &h.v_depth, &h.v_at) || size != h.depth ||
        heads != h.kv_heads || keys != h.keys || h.heads % h.kv_heads != 0 || h.keys == 0 ||
        mode < 0 || mode > 3 ||
        !(ox_run_float(r, "scale", 1) >= 0)) /* the standard takes the root of it, which is NaN */
        return OX_UNSUPPORTED;
    bool fits;
    h.batch = (size_t)q->dims[0];
    h.q = q->data;
    h.k = k->data;
    h.v = v->data;
    const struct ox_fast_cache cache = {.key = 4, .value = 5, .held = SIZE_MAX};
    const size_t fresh = h.keys;
    if (ox_run_has(r, 4) || ox_run_has(r, 5) || ox_run_wants(r, 1) || ox_run_wants(r, 2))
        OX_TRY(ox_fast_cache_join(r, &cache, &h, err));
    h.first = (ptrdiff_t)(h.keys - fresh);
    h.scale = ox_run_float(r, "scale", 1 / sqrtf((float)h.depth));
    h.cap = fmaxf(ox_run_float(r, "softcap", 0), 0);
    h.causal = ox_run_int(r, "is_causal", 0) != 0;
    OX_TRY(set_mask(r, &h, &fits, err));
    if (!fits)
        return ox_fast_cache_decline(r);
    const bool flat = q->rank == 3;
    int64_t dims[4] = {q->dims[0], q->dims[1], (int64_t)(h.heads * h.v_depth)};
    if (!flat) {
        dims[2] = q->dims[2];
        dims[3] = (int64_t)h.v_depth;
    }
    if (!hides_numbers_alone(&h, k, v, ox_run_in(r, 3)))
        return ox_fast_cache_decline(r);
    h.y_at.row = flat ? h.heads * h.v_depth : h.v_depth;
    h.y_at.head = flat ? h.v_depth : h.queries * h.v_depth;
    h.y_at.batch = h.heads * h.queries * h.v_depth;
    return ox_fast_cache_attend(r, &h, q->rank, dims, err);
}
