/* Attention without the matrix of scores (Dao et al., FlashAttention, 2022; Milakov and Gimelshein, Online normalizer
 * calculation for softmax, 2018). Queries lie along the lanes, so that keys and values are read where they are, an element
 * at a time, and softmax goes down the lanes. */

#define NAMED(x) x##_wide
#define ROWS V_ROWS
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_4
#define ROWS 4
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_1
#define ROWS 1
#include "kernels/attend_tile_vec_tmpl.h"

enum { LANES = 2 * VW };

/* y[j][i] = x[i][j] */
static void turn(size_t rows, size_t cols, const float *x, size_t ldx, float *y, size_t ldy)
{
    size_t i = 0;
    for (; i + 8 <= rows; i += 8) {
        size_t j = 0;
        for (; j + 8 <= cols; j += 8)
            v_turn_tile(x + i * ldx + j, ldx, y + j * ldy + i, ldy);
        for (; j < cols; j++) {
            for (size_t r = 0; r < 8; r++)
                y[j * ldy + i + r] = x[(i + r) * ldx + j];
        }
    }
    for (; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            y[j * ldy + i] = x[i * ldx + j];
    }
}

static void block_scores(const struct ox_attend_head *h, const float *q, size_t at, size_t keys,
                         float *s)
{
    const float *k = h->k + at * h->k_step;
    size_t j = 0;
    for (; j + V_ROWS <= keys; j += V_ROWS)
        scores_wide(h->depth, q, k + j * h->k_step, h->k_step, s + j * LANES);
    for (; j + 4 <= keys; j += 4)
        scores_4(h->depth, q, k + j * h->k_step, h->k_step, s + j * LANES);
    for (; j < keys; j++)
        scores_1(h->depth, q, k + j * h->k_step, h->k_step, s + j * LANES);
}

static void block_values(const struct ox_attend_head *h, size_t at, size_t keys, const float *p,
                         const float *factor, float *y)
{
    const float *v = h->v + at * h->v_step;
    size_t d = 0;
    for (; d + V_ROWS <= h->v_depth; d += V_ROWS)
        values_wide(keys, p, v + d, h->v_step, factor, y + d * LANES);
    for (; d + 4 <= h->v_depth; d += 4)
        values_4(keys, p, v + d, h->v_step, factor, y + d * LANES);
    for (; d < h->v_depth; d++)
        values_1(keys, p, v + d, h->v_step, factor, y + d * LANES);
}

/* Caps and masks the scores of a block: queries [from, from + n), keys [at, at + keys). */
static void block_mask(const struct ox_attend_head *h, size_t from, size_t n, size_t at,
                       size_t keys, float *s, float *turned)
{
    if (h->cap != 0) {
        unary_affine(keys * LANES, s, s, 1 / h->cap, 0);
        unary_tanh(keys * LANES, s, s, 0, 0);
        unary_affine(keys * LANES, s, s, h->cap, 0);
    }
    if (h->mask && h->mask_step == 0) {
        for (size_t j = 0; j < keys; j++)
            binary_add_right_one(LANES, s + j * LANES, h->mask + (at + j) * h->mask_key_step,
                                 s + j * LANES);
    } else if (h->mask && h->mask_key_step == 1) {
        turn(n, keys, h->mask + from * h->mask_step + at, h->mask_step, turned, LANES);
        for (size_t j = 0; j < keys; j++)
            binary_add_both(n, s + j * LANES, turned + j * LANES, s + j * LANES);
    } else if (h->mask) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < keys; j++)
                s[j * LANES + i] +=
                    h->mask[(from + i) * h->mask_step + (at + j) * h->mask_key_step];
        }
    }
    if (!h->causal)
        return;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t seen = (ptrdiff_t)(from + i) + h->first + 1 - (ptrdiff_t)at;
        for (size_t j = seen < 0 ? 0 : (size_t)seen; j < keys; j++)
            s[j * LANES + i] = -INFINITY;
    }
}

/* s = e^(s - most) with `most` and `sum` kept up to date over blocks; factor: what the sums so far must be scaled by. */
static void block_softmax(size_t keys, float *s, float *most, float *sum, float *factor)
{
    VF m0 = v_load(most), m1 = v_load(most + VW);
    const VF old0 = m0, old1 = m1;
    for (size_t j = 0; j < keys; j++) {
        m0 = v_max(v_load(s + j * LANES), m0);
        m1 = v_max(v_load(s + j * LANES + VW), m1);
    }
    VF f0 = vm_exp_low(v_sub(old0, m0)), f1 = vm_exp_low(v_sub(old1, m1));
    VF r0 = v_mul(v_load(sum), f0), r1 = v_mul(v_load(sum + VW), f1);
    for (size_t j = 0; j < keys; j++) {
        VF e0 = vm_exp_low(v_sub(v_load(s + j * LANES), m0));
        VF e1 = vm_exp_low(v_sub(v_load(s + j * LANES + VW), m1));
        v_store(s + j * LANES, e0);
        v_store(s + j * LANES + VW, e1);
        r0 = v_add(r0, e0);
        r1 = v_add(r1, e1);
    }
    v_store(most, m0);
    v_store(most + VW, m1);
    v_store(sum, r0);
    v_store(sum + VW, r1);
    v_store(factor, f0);
    v_store(factor + VW, f1);
}

static size_t keys_seen(const struct ox_attend_head *h, size_t query)
{
    if (!h->causal)
        return h->keys;
    ptrdiff_t seen = (ptrdiff_t)query + h->first + 1;
    return seen < 0 ? 0 : (size_t)seen < h->keys ? (size_t)seen : h->keys;
}

static void attend(const struct ox_attend_head *h, size_t from, size_t n, float *work)
{
    float *q = work, *y = q + h->depth * LANES, *s = y + h->v_depth * LANES;
    float *turned = s + (size_t)OX_ATTEND_KEYS * LANES;
    float most[LANES], sum[LANES], factor[LANES];
    if (n < LANES)
        memset(q, 0, h->depth * LANES * sizeof *q);
    turn(n, h->depth, h->q + from * h->q_step, h->q_step, q, LANES);
    unary_affine(h->depth * LANES, q, q, h->scale, 0);
    memset(y, 0, h->v_depth * LANES * sizeof *y);
    for (size_t i = 0; i < LANES; i++) {
        most[i] = -FLT_MAX; /* not infinity: a block that is masked whole must leave 0, not NaN */
        sum[i] = 0;
    }
    size_t seen = keys_seen(h, from + n - 1);
    for (size_t at = 0; at < seen; at += OX_ATTEND_KEYS) {
        size_t keys = seen - at < OX_ATTEND_KEYS ? seen - at : OX_ATTEND_KEYS;
        block_scores(h, q, at, keys, s);
        block_mask(h, from, n, at, keys, s, turned);
        block_softmax(keys, s, most, sum, factor);
        block_values(h, at, keys, s, factor, y);
    }
    for (size_t i = 0; i < LANES; i++)
        factor[i] = sum[i] == 0 && h->none_is_0 ? 0 : 1 / sum[i];
    for (size_t d = 0; d < h->v_depth; d++)
        binary_mul_both(LANES, y + d * LANES, factor, y + d * LANES);
    turn(h->v_depth, n, y, LANES, h->y + from * h->y_step, h->y_step);
}

/* s[j] = scale q k[j] for keys in order, four streams at a time. */
static void one_scores(const struct ox_attend_head *h, const float *q, size_t keys, float *s)
{
    const size_t step = h->k_step, n = h->depth;
    size_t j = 0;
    for (; j + 4 <= keys; j += 4) {
        const float *k = h->k + j * step;
        VF r[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
        size_t d = 0;
        for (; d + VW <= n; d += VW) {
            const VF x = v_load(q + d);
            for (size_t i = 0; i < 4; i++)
                r[i] = v_fma(x, v_load(k + i * step + d), r[i]);
        }
        for (size_t i = 0; i < 4; i++) {
            if (d < n)
                r[i] = v_fma(v_load_n(q + d, n - d), v_load_n(k + i * step + d, n - d), r[i]);
            s[j + i] = h->scale * v_sum(r[i]);
        }
    }
    for (; j < keys; j++)
        s[j] = h->scale * dot(n, q, h->k + j * step);
}

/* y = sum over keys of p[j] v[j], eight vectors of y at a time. */
static void one_values(const struct ox_attend_head *h, size_t keys, const float *p, float *y)
{
    size_t d = 0;
    for (; d + 8 * VW <= h->v_depth; d += 8 * VW) {
        VF r[8];
        for (int i = 0; i < 8; i++)
            r[i] = v_zero();
        const float *v = h->v + d;
        for (size_t j = 0; j < keys; j++, v += h->v_step) {
            const VF x = v_set1(p[j]);
            for (int i = 0; i < 8; i++)
                r[i] = v_fma(x, v_load(v + i * VW), r[i]);
        }
        for (int i = 0; i < 8; i++)
            v_store(y + d + i * VW, r[i]);
    }
    for (; d < h->v_depth; d += VW) {
        size_t left = h->v_depth - d < VW ? h->v_depth - d : VW;
        VF r = v_zero();
        for (size_t j = 0; j < keys; j++)
            r = v_fma(v_set1(p[j]), get(h->v + j * h->v_step + d, left), r);
        put(y + d, r, left);
    }
}

static void attend_one(const struct ox_attend_head *h, size_t query, float *s)
{
    size_t keys = keys_seen(h, query);
    one_scores(h, h->q + query * h->q_step, keys, s);
    if (h->cap != 0) {
        unary_affine(keys, s, s, 1 / h->cap, 0);
        unary_tanh(keys, s, s, 0, 0);
        unary_affine(keys, s, s, h->cap, 0);
    }
    const float *mask = h->mask ? h->mask + query * h->mask_step : NULL;
    if (mask && h->mask_key_step != 1) {
        for (size_t j = 0; j < keys; j++)
            s[j] += mask[j * h->mask_key_step];
        mask = NULL;
    }
    if (mask)
        binary_add_both(keys, s, mask, s);
    float *y = h->y + query * h->y_step;
    if (keys == 0 || (h->none_is_0 && max(keys, s) == -INFINITY)) {
        for (size_t d = 0; d < h->v_depth; d++)
            y[d] = h->none_is_0 ? 0 : NAN;
        return;
    }
    softmax(keys, s, NULL, 1, s);
    one_values(h, keys, s, y);
}
