/* What becomes of a register tile's sums: what is added to them, activations, and where they go. Stamped for each vector width. */

#include "kernels/ending_tmpl.h"

/* The sums of `vecs` vectors on their way to c; columns from `first` on. */
static void leave(const struct ox_tile *t, const unsigned rows, const unsigned vecs, size_t first,
                  const VF (*sums)[VECS])
{
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned v = 0; v < vecs && first + v * VW < t->cols; v++) {
            const size_t j = first + v * VW, left = t->cols - j;
            const bool some = left < VW;
            const size_t m = some ? left : VW;
            float *to = t->c + i * t->ldc + j;
            VF x = sums[i][v];
            if (t->add)
                x = v_add(x, load_part(to, some, m));
            if (t->end)
                x = ending(t->end, x, i, j, some, m);
            store_part(to, some, m, x);
        }
    }
}

/* The common ends of `vecs` vectors, in registers: scale, bias, residual, limits or LeakyRelu. Of its last vector the first m lanes. */
INLINE void leave_common(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                         size_t first, const bool some, const size_t m, VF (*sum)[VECS])
{
    const unsigned last = some ? vecs - 1 : vecs;
    const struct ox_epilogue *end = t->end;
    const bool clip = end && end->act == OX_ACT_CLIP;
    const float *r = end && end->residual && !end->residual_last ? end->residual + first : NULL;
    float *c = t->c + first;
    if (t->add) {
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_add(sum[i][v], load_part(c + i * t->ldc + v * VW, v == last, m));
        }
    }
    if (end && end->scale != 0) {
        const VF scale = v_set1(end->scale);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_mul(sum[i][v], scale);
        }
    }
    if (end && end->col_bias) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            const VF bias = load_part(end->col_bias + first + v * VW, v == last, m);
#pragma GCC unroll 16
            for (unsigned i = 0; i < rows; i++)
                sum[i][v] = v_add(sum[i][v], bias);
        }
    }
    if (r) {
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++, r += end->residual_ld) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_add(sum[i][v], load_part(r + v * VW, v == last, m));
        }
    }
    if (clip) {
        const VF lo = v_set1(end->lo), hi = v_set1(end->hi);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_max(lo, sum[i][v]);
        }
        if (end->hi != INFINITY) {
#pragma GCC unroll 16
            for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
                for (unsigned v = 0; v < vecs; v++)
                    sum[i][v] = v_min(hi, sum[i][v]);
            }
        }
    } else if (end && end->act == OX_ACT_LEAKY) {
        const VF alpha = v_set1(end->alpha);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = leaky(sum[i][v], alpha);
        }
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++, c += t->ldc) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            store_part(c + v * VW, v == last, m, sum[i][v]);
    }
}

/* Of columns that need nothing rare the sums never leave their registers. */
INLINE void leave_panel(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                        size_t first, bool common, VF (*sum)[VECS])
{
    const size_t left = t->cols - first;
    if (common && left >= vecs * VW) {
        leave_common(t, rows, vecs, first, false, VW, sum);
        return;
    }
    if (common) {
        leave_common(t, rows, vecs, first, true, left - (vecs - 1) * VW, sum);
        return;
    }
    VF sums[ROWS_MOST][VECS];
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            sums[i][v] = sum[i][v];
    }
    leave(t, rows, vecs, first, (const VF(*)[VECS])sums);
}

INLINE bool is_common(const struct ox_epilogue *end)
{
    return !end || !end->row_bias;
}

INLINE void clear(const unsigned rows, const unsigned vecs, VF (*sum)[VECS])
{
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            sum[i][v] = v_zero();
    }
}

/* The lines of a row's sums; where a line is two vectors, these may begin in the middle of one. */
INLINE void expect_sums(const unsigned vecs, const float *c)
{
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
        __builtin_prefetch(c + v * VW, 1);
    if (VW < 16)
        __builtin_prefetch(c + vecs * VW - 1, 1);
}

/* Where the sums will go, and what is added to them, comes nearer while they are summed. */
INLINE void expect(const struct ox_tile *t, const unsigned rows, const unsigned vecs, size_t first)
{
    const float *c = t->c + first;
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++, c += t->ldc)
        expect_sums(vecs, c);
    if (t->end && t->end->residual) {
        const float *r = t->end->residual + first;
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++, r += t->end->residual_ld) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
                __builtin_prefetch(r + v * VW);
        }
    }
}

INLINE VF clipped(VF x, VF lo, VF hi)
{
    return v_min(hi, v_max(lo, x));
}

static void finish(size_t n, const struct ox_epilogue *end, float *x)
{
    for (size_t j = 0; j < n; j += VW) {
        const bool some = n - j < VW;
        const size_t m = some ? n - j : VW;
        VF y = ending(end, load_part(x + j, some, m), 0, j, some, m);
        if (end->residual && end->residual_last)
            y = v_add(y, load_part(end->residual + j, some, m));
        store_part(x + j, some, m, y);
    }
}
