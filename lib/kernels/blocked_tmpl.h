/* Products by weights of few bits for one width of vectors. The includer defines BLOCKED_KERNELS, what is made here, and
 * BLOCKED_LOAD(p): VW bytes as integers. */
#include "kernels/blocked.h"

enum { COLS = 2 };

#define INLINE static inline __attribute__((always_inline))

/* One column's place in a block. */
struct blocked_column {
    const uint8_t *at;
    VF scale, zero;
};

INLINE void begin_block(const struct ox_blocked *w, size_t column, size_t b,
                        struct blocked_column *c)
{
    c->at = w->codes + (column * w->k + b * w->block) / (8 / w->bits);
    c->scale = v_set1(w->scales[column * w->blocks + b]);
    c->zero = v_set1(ox_blocked_zero(w, column, b));
}

INLINE VF value_of(VI codes, const struct blocked_column *c)
{
    return v_mul(v_sub(v_from_int(codes), c->zero), c->scale);
}

/* The next vector of weights of 8 bits, or the next two of 4: those in even places, those in odd ones. */
INLINE void next_weights(struct blocked_column *c, const unsigned bits, VF out[2])
{
    const VI bytes = BLOCKED_LOAD(c->at);
    c->at += VW;
    if (bits == 8) {
        out[0] = value_of(bytes, c);
        return;
    }
    out[0] = value_of(vi_and(bytes, vi_set1(15)), c);
    out[1] = value_of(vi_right(bytes, 4), c);
}

/* Sums of a row: those of the two vectors of weights of 4 bits go apart where there are too few others to wait for. */
INLINE unsigned sums_of(const unsigned bits, const unsigned rows)
{
    return bits == 4 && rows <= 4 ? 2 : 1;
}

INLINE void dot_columns(const struct ox_blocked *w, const unsigned bits, size_t column,
                        const unsigned cols, const unsigned rows, const float *a, size_t lda,
                        float *c, size_t ldc)
{
    const unsigned parts = bits == 4 ? 2 : 1, sums = sums_of(bits, rows);
    VF sum[COLS][OX_BLOCKED_ROWS][2];
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < rows; i++)
            sum[j][i][0] = sum[j][i][1] = v_zero();
    for (size_t b = 0; b < w->blocks; b++) {
        struct blocked_column at[COLS];
#pragma GCC unroll 2
        for (unsigned j = 0; j < cols; j++)
            begin_block(w, column + j, b, &at[j]);
        for (size_t p = 0; p < w->block; p += parts * VW, a += parts * VW) {
#pragma GCC unroll 2
            for (unsigned j = 0; j < cols; j++) {
                VF weights[2];
                next_weights(&at[j], bits, weights);
#pragma GCC unroll 8
                for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
                    for (unsigned h = 0; h < parts; h++)
                        sum[j][i][h % sums] =
                            v_fma(v_load(a + i * lda + h * VW), weights[h], sum[j][i][h % sums]);
            }
        }
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < rows; i++)
            c[i * ldc + j] = v_sum(sums == 2 ? v_add(sum[j][i][0], sum[j][i][1]) : sum[j][i][0]);
}

INLINE void dot_rows(const struct ox_blocked *w, const unsigned bits, size_t first, size_t n,
                     const unsigned rows, const float *a, size_t lda, float *c, size_t ldc)
{
    const unsigned cols = rows <= 2 ? COLS : 1;
    size_t j = 0;
    for (; j + cols <= n; j += cols)
        dot_columns(w, bits, first + j, cols, rows, a, lda, c + j, ldc);
    for (; j < n; j++)
        dot_columns(w, bits, first + j, 1, rows, a, lda, c + j, ldc);
}

#define ROWS(n)                                                                                    \
    static void dots_##n(const struct ox_blocked *w, size_t first, size_t cols, const float *a,    \
                         size_t lda, float *c, size_t ldc)                                         \
    {                                                                                              \
        if (w->bits == 4)                                                                          \
            dot_rows(w, 4, first, cols, n, a, lda, c, ldc);                                        \
        else                                                                                       \
            dot_rows(w, 8, first, cols, n, a, lda, c, ldc);                                        \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
#undef ROWS

static void dots(const struct ox_blocked *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc)
{
    static void (*const with[OX_BLOCKED_ROWS])(const struct ox_blocked *, size_t, size_t,
                                               const float *, size_t, float *, size_t) = {
        dots_1, dots_2, dots_3, dots_4, dots_5, dots_6, dots_7, dots_8};
    with[rows - 1](w, first, n, a, lda, c, ldc);
}

INLINE void widen_bits(const struct ox_blocked *w, const unsigned bits, size_t column, float *out)
{
    const unsigned parts = bits == 4 ? 2 : 1;
    for (size_t b = 0; b < w->blocks; b++) {
        struct blocked_column at;
        begin_block(w, column, b, &at);
        for (size_t p = 0; p < w->block; p += parts * VW, out += parts * VW) {
            VF weights[2];
            next_weights(&at, bits, weights);
#pragma GCC unroll 2
            for (unsigned h = 0; h < parts; h++)
                v_store(out + h * VW, weights[h]);
        }
    }
}

static void widen(const struct ox_blocked *w, size_t column, float *out)
{
    if (w->bits == 4)
        widen_bits(w, 4, column, out);
    else
        widen_bits(w, 8, column, out);
}

const struct ox_blocked_kernels BLOCKED_KERNELS = {.chunk = 2 * VW, .dots = dots, .widen = widen};
