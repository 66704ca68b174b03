/* Attention without the matrix of scores (Dao et al., FlashAttention, 2022; Milakov and Gimelshein, Online normalizer
 * calculation for softmax, 2018). Queries lie along the lanes, so that keys and values are read where they are, an element
 * at a time, and softmax goes down the lanes. */

#ifndef V_QUERIES
#define V_QUERIES 2
#endif

#define ACROSS 1
#define NAMED(x) x##_least_wide
#define ROWS V_ROWS_ONE
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_least_4
#define ROWS 4
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_least_1
#define ROWS 1
#include "kernels/attend_tile_vec_tmpl.h"
#undef ACROSS

#define ACROSS 2
#define NAMED(x) x##_wide
#define ROWS V_ROWS
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_4
#define ROWS 4
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_1
#define ROWS 1
#include "kernels/attend_tile_vec_tmpl.h"
#undef ACROSS

#if V_QUERIES > 2
#define ACROSS V_QUERIES
#define NAMED(x) x##_many_wide
#define ROWS (2 * V_ROWS / V_QUERIES)
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_many_4
#define ROWS 4
#include "kernels/attend_tile_vec_tmpl.h"
#define NAMED(x) x##_many_1
#define ROWS 1
#include "kernels/attend_tile_vec_tmpl.h"
#undef ACROSS
#endif

#define NAMED(x) x##_of_4
#define ROWS 4
#include "kernels/attend_few_vec_tmpl.h"
#define NAMED(x) x##_of_6
#define ROWS 6
#include "kernels/attend_few_vec_tmpl.h"
#define NAMED(x) x##_of_8
#define ROWS 8
#include "kernels/attend_few_vec_tmpl.h"
#define NAMED(x) x##_of_12
#define ROWS 12
#include "kernels/attend_few_vec_tmpl.h"

struct attend_tiles {
    size_t across, rows; /* vectors of queries; keys, or columns of values, of the widest tile */
    void (*scores_wide)(size_t depth, const float *q, const float *k, size_t step, float *s);
    void (*scores_4)(size_t depth, const float *q, const float *k, size_t step, float *s);
    void (*scores_1)(size_t depth, const float *q, const float *k, size_t step, float *s);
    void (*values_wide)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                        float *y);
    void (*values_4)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                     float *y);
    void (*values_1)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                     float *y);
};

static const struct attend_tiles least_queries = {.across = 1,
                                                  .rows = V_ROWS_ONE,
                                                  .scores_wide = scores_least_wide,
                                                  .scores_4 = scores_least_4,
                                                  .scores_1 = scores_least_1,
                                                  .values_wide = values_least_wide,
                                                  .values_4 = values_least_4,
                                                  .values_1 = values_least_1};
static const struct attend_tiles few_queries = {.across = 2,
                                                .rows = V_ROWS,
                                                .scores_wide = scores_wide,
                                                .scores_4 = scores_4,
                                                .scores_1 = scores_1,
                                                .values_wide = values_wide,
                                                .values_4 = values_4,
                                                .values_1 = values_1};
#if V_QUERIES > 2
static const struct attend_tiles many_queries = {.across = V_QUERIES,
                                                 .rows = 2 * V_ROWS / V_QUERIES,
                                                 .scores_wide = scores_many_wide,
                                                 .scores_4 = scores_many_4,
                                                 .scores_1 = scores_many_1,
                                                 .values_wide = values_many_wide,
                                                 .values_4 = values_many_4,
                                                 .values_1 = values_many_1};
#endif

/* For n queries. */
static const struct attend_tiles *tiles_for(size_t n)
{
#if V_QUERIES > 2
    if (n > 2 * VW)
        return &many_queries;
#endif
    return n > VW ? &few_queries : &least_queries;
}

enum { LANES_MOST = V_QUERIES * VW };

/* y[j][i] = x[i][j] */
static void turn(size_t rows, size_t cols, const float *x, size_t ldx, float *y, size_t ldy)
{
    size_t i = 0;
#ifdef v_turn_square
    const bool squares = cols % 16 == 0;
    for (; squares && i + 16 <= rows; i += 16) {
        for (size_t j = 0; j < cols; j += 16)
            v_turn_square(x + i * ldx + j, ldx, y + j * ldy + i, ldy);
    }
#endif
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

static void block_scores(const struct ox_attend_head *h, const struct attend_tiles *t,
                         const float *q, size_t at, size_t keys, float *s)
{
    const size_t lanes = t->across * VW, step = h->k_step;
    const float *k = h->k + at * step;
    size_t j = 0;
    /* Two keys alone would take as long as eight by fours. */
    for (; j + t->rows <= keys && keys - j != 8; j += t->rows)
        t->scores_wide(h->depth, q, k + j * step, step, s + j * lanes);
    for (; j + 4 <= keys; j += 4)
        t->scores_4(h->depth, q, k + j * step, step, s + j * lanes);
    for (; j < keys; j++)
        t->scores_1(h->depth, q, k + j * step, step, s + j * lanes);
}

static void block_values(const struct ox_attend_head *h, const struct attend_tiles *t, size_t at,
                         size_t keys, const float *p, const float *factor, float *y)
{
    const size_t lanes = t->across * VW;
    const float *v = h->v + at * h->v_step;
    size_t d = 0;
    for (; d + t->rows <= h->v_depth; d += t->rows)
        t->values_wide(keys, p, v + d, h->v_step, factor, y + d * lanes);
    for (; d + 4 <= h->v_depth; d += 4)
        t->values_4(keys, p, v + d, h->v_step, factor, y + d * lanes);
    for (; d < h->v_depth; d++)
        t->values_1(keys, p, v + d, h->v_step, factor, y + d * lanes);
}

/* Whether values go along the lanes: registers hold the sums of so few queries, and lanes would be empty. */
static bool values_along(size_t n)
{
    return n <= V_ROWS && n < VW;
}

static void few_values(const struct ox_attend_head *h, size_t n, size_t at, size_t keys,
                       const float *p, const float *factor, float *y)
{
    if (n <= 4)
        values_of_4(h, at, keys, p, VW, factor, y);
    else if (n <= 6)
        values_of_6(h, at, keys, p, VW, factor, y);
    else if (n <= 8)
        values_of_8(h, at, keys, p, VW, factor, y);
    else
        values_of_12(h, at, keys, p, VW, factor, y);
}

/* Caps and masks the scores of a block: queries [from, from + n), keys [at, at + keys). */
static void block_mask(const struct ox_attend_head *h, size_t lanes, size_t from, size_t n,
                       size_t at, size_t keys, float *s, float *turned)
{
    if (h->cap != 0) {
        unary_affine(keys * lanes, s, s, 1 / h->cap, 0);
        unary_tanh(keys * lanes, s, s, 0, 0);
        unary_affine(keys * lanes, s, s, h->cap, 0);
    }
    if (h->mask && h->mask_step == 0) {
        for (size_t j = 0; j < keys; j++)
            binary_add_right_one(lanes, s + j * lanes, h->mask + (at + j) * h->mask_key_step,
                                 s + j * lanes);
    } else if (h->mask && h->mask_key_step == 1) {
        turn(n, keys, h->mask + from * h->mask_step + at, h->mask_step, turned, lanes);
        for (size_t j = 0; j < keys; j++)
            binary_add_both(n, s + j * lanes, turned + j * lanes, s + j * lanes);
    } else if (h->mask) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < keys; j++)
                s[j * lanes + i] +=
                    h->mask[(from + i) * h->mask_step + (at + j) * h->mask_key_step];
        }
    }
    if (!h->causal)
        return;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t seen = (ptrdiff_t)(from + i) + h->first + 1 - (ptrdiff_t)at;
        for (size_t j = seen < 0 ? 0 : (size_t)seen; j < keys; j++)
            s[j * lanes + i] = -INFINITY;
        const ptrdiff_t gone = h->window ? seen - (ptrdiff_t)h->window : 0;
        for (size_t j = 0; (ptrdiff_t)j < gone && j < keys; j++)
            s[j * lanes + i] = -INFINITY;
    }
}

/* s = e^(s - most) with `most` and `sum` kept up to date over blocks; factor: what the sums so far must be scaled by. */
static void block_softmax(size_t lanes, size_t keys, float *s, float *most, float *sum,
                          float *factor)
{
    for (size_t i = 0; i < lanes; i += VW, s += VW) {
        const VF old = v_load(most + i);
        VF m0 = old, m1 = old;
        size_t j = 0;
        for (; j + 2 <= keys; j += 2) {
            m0 = v_max(v_load(s + j * lanes), m0);
            m1 = v_max(v_load(s + (j + 1) * lanes), m1);
        }
        m0 = v_max(m1, m0);
        if (j < keys)
            m0 = v_max(v_load(s + j * lanes), m0);
        VF f = v_sub(old, m0), e[EXPS_ABREAST], r[EXPS_ABREAST];
        ROWS_EXPS(&f, 1);
        r[0] = v_mul(v_load(sum + i), f);
        for (unsigned u = 1; u < EXPS_ABREAST; u++)
            r[u] = v_zero();
        for (j = 0; j + EXPS_ABREAST <= keys; j += EXPS_ABREAST) {
            EXPS_EACH e[u] = v_sub(v_load(s + (j + u) * lanes), m0);
            ROWS_EXPS(e, EXPS_ABREAST);
            EXPS_EACH v_store(s + (j + u) * lanes, e[u]);
            EXPS_EACH r[u] = v_add(r[u], e[u]);
        }
        for (; j < keys; j++) {
            e[0] = v_sub(v_load(s + j * lanes), m0);
            ROWS_EXPS(e, 1);
            v_store(s + j * lanes, e[0]);
            r[0] = v_add(r[0], e[0]);
        }
        v_store(most + i, m0);
        v_store(sum + i, sum_abreast(r));
        v_store(factor + i, f);
    }
}

static size_t keys_seen(const struct ox_attend_head *h, size_t query)
{
    if (!h->causal)
        return h->keys;
    ptrdiff_t seen = (ptrdiff_t)query + h->first + 1;
    return seen < 0 ? 0 : (size_t)seen < h->keys ? (size_t)seen : h->keys;
}

/* Those before a query's window. */
static size_t keys_gone(const struct ox_attend_head *h, size_t query)
{
    const ptrdiff_t gone = (ptrdiff_t)query + h->first + 1 - (ptrdiff_t)h->window;
    if (!h->window || gone < 0)
        return 0;
    return (size_t)gone < h->keys ? (size_t)gone : h->keys;
}

static void attend(const struct ox_attend_head *h, size_t from, size_t n, float *work)
{
    const struct attend_tiles *tiles = tiles_for(n);
    const size_t lanes = tiles->across * VW;
    const bool along = values_along(n);
    float *q = work, *y = q + h->depth * lanes, *s = y + h->v_depth * lanes;
    float *turned = s + OX_ATTEND_KEYS * lanes;
    float most[LANES_MOST], sum[LANES_MOST], factor[LANES_MOST];
    if (n < lanes)
        memset(q, 0, h->depth * lanes * sizeof *q);
    turn(n, h->depth, h->q + from * h->q_step, h->q_step, q, lanes);
    unary_affine(h->depth * lanes, q, q, h->scale, 0);
    memset(y, 0, h->v_depth * lanes * sizeof *y);
    for (size_t i = 0; i < lanes; i++) {
        most[i] = -FLT_MAX; /* not infinity: a block that is masked whole must leave 0, not NaN */
        sum[i] = 0;
        if (h->has_sink && h->sink != -INFINITY) {
            most[i] = h->sink;
            sum[i] = 1;
        }
    }
    size_t seen = keys_seen(h, from + n - 1);
    for (size_t at = keys_gone(h, from); at < seen; at += OX_ATTEND_KEYS) {
        size_t keys = seen - at < OX_ATTEND_KEYS ? seen - at : OX_ATTEND_KEYS;
        block_scores(h, tiles, q, at, keys, s);
        block_mask(h, lanes, from, n, at, keys, s, turned);
        block_softmax(lanes, keys, s, most, sum, factor);
        if (along)
            few_values(h, n, at, keys, s, factor, y);
        else
            block_values(h, tiles, at, keys, s, factor, y);
    }
    for (size_t i = 0; i < lanes; i++)
        factor[i] = sum[i] == 0 && (h->none_is_0 || h->has_sink) ? 0 : 1 / sum[i];
    for (size_t i = 0; along && i < n; i++)
        binary_mul_right_one(h->v_depth, y + i * h->v_depth, &factor[i],
                             h->y + (from + i) * h->y_step);
    if (along)
        return;
    for (size_t d = 0; d < h->v_depth; d++) {
        for (size_t i = 0; i < lanes; i += VW)
            v_store(y + d * lanes + i, v_mul(v_load(y + d * lanes + i), v_load(factor + i)));
    }
    turn(h->v_depth, n, y, lanes, h->y + from * h->y_step, h->y_step);
}

/* s[j] = scale q k[j] for keys in order, four streams at a time. */
static void one_scores(const struct ox_attend_head *h, const float *q, const float *first,
                       size_t keys, float *s)
{
    const size_t step = h->k_step, n = h->depth;
    size_t j = 0;
    for (; j + 4 <= keys; j += 4) {
        const float *k = first + j * step;
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
        s[j] = h->scale * dot(n, q, first + j * step);
}

/* y = sum over keys of p[j] v[j], eight vectors of y at a time, or four of which every other key has sums of its own, or one with
 * four sums. */
static void one_values(const struct ox_attend_head *h, const float *first, size_t keys,
                       const float *p, float *y)
{
    size_t d = 0;
    for (; d + 8 * VW <= h->v_depth; d += 8 * VW) {
        VF r[8];
        for (int i = 0; i < 8; i++)
            r[i] = v_zero();
        const float *v = first + d;
        for (size_t j = 0; j < keys; j++, v += h->v_step) {
            const VF x = v_set1(p[j]);
            for (int i = 0; i < 8; i++)
                r[i] = v_fma(x, v_load(v + i * VW), r[i]);
        }
        for (int i = 0; i < 8; i++)
            v_store(y + d + i * VW, r[i]);
    }
    for (; d + 4 * VW <= h->v_depth; d += 4 * VW) {
        VF r[8];
        for (int i = 0; i < 8; i++)
            r[i] = v_zero();
        const float *v = first + d;
        size_t j = 0;
        for (; j + 2 <= keys; j += 2, v += 2 * h->v_step) {
            const VF x = v_set1(p[j]), z = v_set1(p[j + 1]);
            for (int i = 0; i < 4; i++) {
                r[i] = v_fma(x, v_load(v + i * VW), r[i]);
                r[4 + i] = v_fma(z, v_load(v + h->v_step + i * VW), r[4 + i]);
            }
        }
        for (int i = 0; j < keys && i < 4; i++)
            r[i] = v_fma(v_set1(p[j]), v_load(v + i * VW), r[i]);
        for (int i = 0; i < 4; i++)
            v_store(y + d + i * VW, v_add(r[i], r[4 + i]));
    }
    for (; d < h->v_depth; d += VW) {
        size_t left = h->v_depth - d < VW ? h->v_depth - d : VW;
        const float *v = first + d;
        VF r[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
        size_t j = 0;
        for (; j + 4 <= keys; j += 4, v += 4 * h->v_step) {
            for (size_t i = 0; i < 4; i++)
                r[i] = v_fma(v_set1(p[j + i]), get(v + i * h->v_step, left), r[i]);
        }
        for (; j < keys; j++, v += h->v_step)
            r[0] = v_fma(v_set1(p[j]), get(v, left), r[0]);
        put(y + d, v_add(v_add(r[0], r[1]), v_add(r[2], r[3])), left);
    }
}

static void attend_one(const struct ox_attend_head *h, size_t query, float *s)
{
    const size_t gone = keys_gone(h, query), seen = keys_seen(h, query);
    const size_t keys = seen < gone ? 0 : seen - gone;
    one_scores(h, h->q + query * h->q_step, h->k + gone * h->k_step, keys, s);
    if (h->cap != 0) {
        unary_affine(keys, s, s, 1 / h->cap, 0);
        unary_tanh(keys, s, s, 0, 0);
        unary_affine(keys, s, s, h->cap, 0);
    }
    const float *mask = h->mask ? h->mask + query * h->mask_step + gone * h->mask_key_step : NULL;
    if (mask && h->mask_key_step != 1) {
        for (size_t j = 0; j < keys; j++)
            s[j] += mask[j * h->mask_key_step];
        mask = NULL;
    }
    if (mask)
        binary_add_both(keys, s, mask, s);
    float *y = h->y + query * h->y_step;
    const bool as_0 = h->none_is_0 || h->has_sink;
    if (keys == 0 || (as_0 && max(keys, s) == -INFINITY)) {
        for (size_t d = 0; d < h->v_depth; d++)
            y[d] = as_0 ? 0 : NAN;
        return;
    }
    if (h->has_sink)
        s[keys] = h->sink;
    softmax(keys + h->has_sink, s, NULL, 1, s);
    one_values(h, h->v + gone * h->v_step, keys, s, y);
}
