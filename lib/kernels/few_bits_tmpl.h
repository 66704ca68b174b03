/* Products by weights of few bits for one width of vectors. The includer defines FEW_BITS_KERNELS, what is made here, LOAD_BYTES(p):
 * VW bytes as integers, and, where the processor can, LOOK_UP(codes, table): what sixteen floats have for the low four bits of each;
 * FEW_BITS_PANEL: the table's members of panels. */
#include <stdbool.h>

#include "kernels/few_bits.h"
#include "kernels/inline.h"

enum { COLS = 2 };

/* A column's place in a block. */
struct column_at {
    const uint8_t *at;
    const float *scales;
    VF scale, zero, table;
};

INLINE void begin_column(const struct ox_few_bits *w, const unsigned bits, size_t column,
                         struct column_at *c)
{
    c->at = w->codes + column * w->k / (8 / bits);
    c->scales = w->scales + column * w->blocks;
    c->zero = v_set1((float)(1u << (bits - 1)));
}

INLINE void begin_block(const struct ox_few_bits *w, const bool zeros, size_t column, size_t b,
                        struct column_at *c)
{
    c->scale = v_set1(c->scales[b]);
    if (zeros)
        c->zero = v_set1(ox_few_bits_zero(w, column, b));
#ifdef LOOK_UP
    static const float codes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    c->table = v_mul(v_sub(v_load(codes), c->zero), c->scale);
#endif
}

INLINE VF value_of(VI codes, const struct column_at *c)
{
    return v_mul(v_sub(v_from_int(codes), c->zero), c->scale);
}

/* The next vector of weights of 8 bits, or the next two of 4: those in even places, those in odd ones. */
INLINE void next_weights(struct column_at *c, const unsigned bits, VF out[2])
{
    const VI bytes = LOAD_BYTES(c->at);
    c->at += VW;
    if (bits == 8) {
        out[0] = value_of(bytes, c);
        return;
    }
#ifdef LOOK_UP
    out[0] = LOOK_UP(bytes, c->table);
    out[1] = LOOK_UP(vi_right(bytes, 4), c->table);
#else
    out[0] = value_of(vi_and(bytes, vi_set1(15)), c);
    out[1] = value_of(vi_right(bytes, 4), c);
#endif
}

/* The two vectors of weights of 4 bits have sums of their own, so that fewer wait for each other. */
INLINE void dot_columns(const struct ox_few_bits *w, const unsigned bits, const bool zeros,
                        size_t column, const unsigned cols, const unsigned rows, const float *a,
                        size_t lda, float *c, size_t ldc)
{
    const unsigned parts = bits == 4 ? 2 : 1;
    VF sum[COLS][OX_FEW_BITS_ROWS][2];
    struct column_at at[COLS];
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            sum[j][i][0] = sum[j][i][1] = v_zero();
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
        begin_column(w, bits, column + j, &at[j]);
    for (size_t b = 0; b < w->blocks; b++) {
#pragma GCC unroll 2
        for (unsigned j = 0; j < cols; j++)
            begin_block(w, zeros, column + j, b, &at[j]);
        for (size_t p = 0; p < w->block; p += parts * VW, a += parts * VW) {
#pragma GCC unroll 2
            for (unsigned j = 0; j < cols; j++) {
                VF weights[2];
                next_weights(&at[j], bits, weights);
#pragma GCC unroll 4
                for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
                    for (unsigned h = 0; h < parts; h++)
                        sum[j][i][h] =
                            v_fma(v_load(a + i * lda + h * VW), weights[h], sum[j][i][h]);
            }
        }
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            c[i * ldc + j] = v_sum(v_add(sum[j][i][0], sum[j][i][1]));
}

INLINE void dot_rows(const struct ox_few_bits *w, const unsigned bits, const bool zeros,
                     size_t first, size_t n, const unsigned rows, const float *a, size_t lda,
                     float *c, size_t ldc)
{
    const unsigned cols = rows <= 2 || VW == 16 ? COLS : 1; /* as many as registers hold */
    size_t j = 0;
    for (; j + cols <= n; j += cols)
        dot_columns(w, bits, zeros, first + j, cols, rows, a, lda, c + j, ldc);
    for (; j < n; j++)
        dot_columns(w, bits, zeros, first + j, 1, rows, a, lda, c + j, ldc);
}

#define ROWS(n)                                                                                    \
    static void dots_##n(const struct ox_few_bits *w, size_t first, size_t cols, const float *a,   \
                         size_t lda, float *c, size_t ldc)                                         \
    {                                                                                              \
        const bool zeros = w->zeros || w->real_zeros;                                              \
        if (w->bits == 4 && zeros)                                                                 \
            dot_rows(w, 4, true, first, cols, n, a, lda, c, ldc);                                  \
        else if (w->bits == 4)                                                                     \
            dot_rows(w, 4, false, first, cols, n, a, lda, c, ldc);                                 \
        else if (zeros)                                                                            \
            dot_rows(w, 8, true, first, cols, n, a, lda, c, ldc);                                  \
        else                                                                                       \
            dot_rows(w, 8, false, first, cols, n, a, lda, c, ldc);                                 \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
#undef ROWS

static void dots(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc)
{
    static void (*const with[OX_FEW_BITS_ROWS])(const struct ox_few_bits *, size_t, size_t,
                                                const float *, size_t, float *,
                                                size_t) = {dots_1, dots_2, dots_3, dots_4};
    with[rows - 1](w, first, n, a, lda, c, ldc);
}

INLINE void widen_bits(const struct ox_few_bits *w, const unsigned bits, size_t column, float *out)
{
    const unsigned parts = bits == 4 ? 2 : 1;
    struct column_at at;
    begin_column(w, bits, column, &at);
    for (size_t b = 0; b < w->blocks; b++) {
        begin_block(w, w->zeros || w->real_zeros, column, b, &at);
        for (size_t p = 0; p < w->block; p += parts * VW, out += parts * VW) {
            VF weights[2];
            next_weights(&at, bits, weights);
#pragma GCC unroll 2
            for (unsigned h = 0; h < parts; h++)
                v_store(out + h * VW, weights[h]);
        }
    }
}

static void widen(const struct ox_few_bits *w, size_t column, float *out)
{
    if (w->bits == 4)
        widen_bits(w, 4, column, out);
    else
        widen_bits(w, 8, column, out);
}

#ifndef FEW_BITS_PANEL
#define FEW_BITS_PANEL .panel = NULL
#endif

const struct ox_few_bits_kernels FEW_BITS_KERNELS = {
    .chunk = 2 * VW, .dots = dots, .widen = widen, FEW_BITS_PANEL};
