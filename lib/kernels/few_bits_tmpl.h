/* Products by weights of few bits for one width of vectors. The includer defines FEW_BITS_KERNELS, what is made here, LOAD_BYTES(p):
 * VW bytes as integers; LOOK_UP(codes, table): what sixteen floats, in as many vectors as they take, have for the low four bits of each;
 * LOOKS_UP: whether that is better than arithmetic;
 * ZIP(even, odd, out): two vectors as two of which those in even places come first; FEW_BITS_PANEL: the table's members of panels;
 * FEW_BITS_ROWS: as many as registers hold sums of, 4 or 8. */
#include <stdbool.h>

#include "kernels/few_bits.h"
#include "kernels/inline.h"

enum { COLS = 2, SHORT = 2048, NEAR = 8192 /* floats of rows that stay in the first level */ };

enum { CODES = 16, TABLE = CODES / VW /* vectors */ };

/* What codes mean: distances from the middle, or from zeros; numbers of values. */
enum meaning { FROM_MIDDLE, FROM_ZEROS, OF_VALUES };

/* A column's place in a block. */
struct column_at {
    const uint8_t *at;
    const float *scales;
    VF scale, zero, table[TABLE];
};

INLINE void begin_column(const struct ox_few_bits *w, const unsigned bits, size_t column,
                         size_t block, struct column_at *c)
{
    c->at = w->codes + (column * w->k + block * w->block) / (8 / bits);
    c->scales = w->scales + column * w->blocks;
    c->zero = v_set1((float)(1u << (bits - 1)));
}

INLINE void begin_block(const struct ox_few_bits *w, const enum meaning meaning, size_t column,
                        size_t b, struct column_at *c)
{
    static const float codes[CODES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    c->scale = v_set1(c->scales[b]);
    if (meaning == FROM_ZEROS)
        c->zero = v_set1(ox_few_bits_zero(w, column, b));
#pragma GCC unroll 2
    for (unsigned i = 0; i < TABLE; i++)
        if (meaning == OF_VALUES)
            c->table[i] = v_mul(v_load(w->values + i * VW), c->scale);
        else if (LOOKS_UP)
            c->table[i] = v_mul(v_sub(v_load(codes + i * VW), c->zero), c->scale);
}

INLINE VF value_of(VI codes, const struct column_at *c)
{
    return v_mul(v_sub(v_from_int(codes), c->zero), c->scale);
}

/* The next vector of weights of 8 bits, or the next two of 4: those of the low bits, those of the high ones. */
INLINE void next_weights(struct column_at *c, const unsigned bits, const enum meaning meaning,
                         VF out[2])
{
    const VI bytes = LOAD_BYTES(c->at);
    c->at += VW;
    if (bits == 8) {
        out[0] = value_of(bytes, c);
        return;
    }
    if (LOOKS_UP || meaning == OF_VALUES) {
        out[0] = LOOK_UP(bytes, c->table);
        out[1] = LOOK_UP(vi_right(bytes, 4), c->table);
        return;
    }
    out[0] = value_of(vi_and(bytes, vi_set1(15)), c);
    out[1] = value_of(vi_right(bytes, 4), c);
}

/* Bytes from a column's codes to those that are read after these: of the next columns, or the fourth next where they are short. */
INLINE size_t until_later(const struct ox_few_bits *w, const unsigned bits, const unsigned cols)
{
    const size_t bytes = cols * (w->k / (8 / bits));
    return bytes < SHORT ? 4 * bytes : bytes;
}

/* By blocks [first, end), of which the first adds to nothing. The two vectors of weights of 4 bits have sums of their own where rows are
 * few, so that fewer wait for each other. */
INLINE void dot_columns(const struct ox_few_bits *w, const unsigned bits,
                        const enum meaning meaning, size_t column, const unsigned cols,
                        const unsigned rows, size_t first, size_t end, const float *a, size_t lda,
                        float *c, size_t ldc)
{
    const unsigned parts = bits == 4 ? 2 : 1, sums = rows <= 4 ? parts : 1;
    const size_t later = until_later(w, bits, cols);
    VF sum[COLS][OX_FEW_BITS_ROWS][2];
    const float *row[OX_FEW_BITS_ROWS];
    struct column_at at[COLS];
    size_t k = first * w->block;
#pragma GCC unroll 8
    for (unsigned i = 0; i < rows; i++) {
        row[i] = a + i * lda;
        __asm__("" : "+r"(row[i])); /* else compilers make pointers for all sums, and spill */
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < rows; i++)
            sum[j][i][0] = sum[j][i][1] = v_zero();
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
        begin_column(w, bits, column + j, first, &at[j]);
    for (size_t b = first; b < end; b++) {
#pragma GCC unroll 2
        for (unsigned j = 0; j < cols; j++)
            begin_block(w, meaning, column + j, b, &at[j]);
        for (size_t p = 0; p < w->block; p += parts * VW, k += parts * VW) {
#pragma GCC unroll 2
            for (unsigned j = 0; j < cols; j++) {
                VF weights[2];
                if (FEW_BITS_ROWS == 8) /* narrower vectors keep no memory waiting */
                    __builtin_prefetch(at[j].at + later, 0, 3);
                next_weights(&at[j], bits, meaning, weights);
#pragma GCC unroll 8
                for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
                    for (unsigned h = 0; h < parts; h++)
                        sum[j][i][h % sums] =
                            v_fma(v_load(row[i] + k + h * VW), weights[h], sum[j][i][h % sums]);
            }
        }
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < rows; i++)
            c[i * ldc + j] =
                (first ? c[i * ldc + j] : 0) + v_sum(v_add(sum[j][i][0], sum[j][i][1]));
}

INLINE void dot_rows(const struct ox_few_bits *w, const unsigned bits, const enum meaning meaning,
                     size_t first, size_t n, const unsigned rows, const float *a, size_t lda,
                     float *c, size_t ldc)
{
    const unsigned cols =
        rows <= 2 || FEW_BITS_ROWS == 8 ? COLS : 1; /* as many as registers hold */
    const size_t near = NEAR / rows / w->block, most = near ? near : 1;
    for (size_t b = 0; b < w->blocks; b += most) {
        const size_t end = w->blocks - b < most ? w->blocks : b + most;
        size_t j = 0;
        for (; j + cols <= n; j += cols)
            dot_columns(w, bits, meaning, first + j, cols, rows, b, end, a, lda, c + j, ldc);
        for (; j < n; j++)
            dot_columns(w, bits, meaning, first + j, 1, rows, b, end, a, lda, c + j, ldc);
    }
}

#define ROWS(n)                                                                                    \
    static void values_##n(const struct ox_few_bits *w, size_t first, size_t cols, const float *a, \
                           size_t lda, float *c, size_t ldc)                                       \
    {                                                                                              \
        dot_rows(w, 4, OF_VALUES, first, cols, n, a, lda, c, ldc);                                 \
    }                                                                                              \
    static void dots_##n(const struct ox_few_bits *w, size_t first, size_t cols, const float *a,   \
                         size_t lda, float *c, size_t ldc)                                         \
    {                                                                                              \
        const bool zeros = w->zeros || w->real_zeros;                                              \
        if (w->bits == 4 && zeros)                                                                 \
            dot_rows(w, 4, FROM_ZEROS, first, cols, n, a, lda, c, ldc);                            \
        else if (w->bits == 4)                                                                     \
            dot_rows(w, 4, FROM_MIDDLE, first, cols, n, a, lda, c, ldc);                           \
        else if (zeros)                                                                            \
            dot_rows(w, 8, FROM_ZEROS, first, cols, n, a, lda, c, ldc);                            \
        else                                                                                       \
            dot_rows(w, 8, FROM_MIDDLE, first, cols, n, a, lda, c, ldc);                           \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
#if FEW_BITS_ROWS == 8
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
#define ALL_ROWS(of) of##_1, of##_2, of##_3, of##_4, of##_5, of##_6, of##_7, of##_8
#else
#define ALL_ROWS(of) of##_1, of##_2, of##_3, of##_4
#endif
#undef ROWS

static void dots(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc)
{
    static void (*const with[2][FEW_BITS_ROWS])(const struct ox_few_bits *, size_t, size_t,
                                                const float *, size_t, float *,
                                                size_t) = {{ALL_ROWS(dots)}, {ALL_ROWS(values)}};
    with[w->values != NULL][rows - 1](w, first, n, a, lda, c, ldc);
}

INLINE void widen_bits(const struct ox_few_bits *w, const unsigned bits, const bool values,
                       const bool in_order, size_t column, float *out)
{
    const unsigned parts = bits == 4 ? 2 : 1;
    const enum meaning meaning = values                      ? OF_VALUES
                                 : w->zeros || w->real_zeros ? FROM_ZEROS
                                                             : FROM_MIDDLE;
    struct column_at at;
    begin_column(w, bits, column, 0, &at);
    for (size_t b = 0; b < w->blocks; b++) {
        begin_block(w, meaning, column, b, &at);
        for (size_t p = 0; p < w->block; p += parts * VW, out += parts * VW) {
            VF weights[2];
            next_weights(&at, bits, meaning, weights);
            if (bits == 4 && in_order)
                ZIP(weights[values], weights[!values], weights);
#pragma GCC unroll 2
            for (unsigned h = 0; h < parts; h++)
                v_store(out + h * VW, weights[h]);
        }
    }
}

static void widen(const struct ox_few_bits *w, size_t column, float *out)
{
    if (w->values)
        widen_bits(w, 4, true, false, column, out);
    else if (w->bits == 4)
        widen_bits(w, 4, false, false, column, out);
    else
        widen_bits(w, 8, false, false, column, out);
}

static void list(const struct ox_few_bits *w, size_t column, float *out)
{
    if (w->values)
        widen_bits(w, 4, true, true, column, out);
    else if (w->bits == 4)
        widen_bits(w, 4, false, true, column, out);
    else
        widen_bits(w, 8, false, true, column, out);
}

#ifndef FEW_BITS_PANEL
#define FEW_BITS_PANEL .panel = NULL
#endif

const struct ox_few_bits_kernels FEW_BITS_KERNELS = {.chunk = 2 * VW,
                                                     .rows = FEW_BITS_ROWS,
                                                     .dots = dots,
                                                     .widen = widen,
                                                     .list = list,
                                                     FEW_BITS_PANEL};
