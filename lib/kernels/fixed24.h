/* Products of few rows by weights of 24 bits in fixed point, a scale for some of a column: weights that are read again and again from a
 * cache beyond the core's own, or from memory, take three quarters of the time. A weight is kept to 2^-24 of the greatest of those that
 * share its scale, which is as near as a float keeps that one: block floating point (Wilkinson, Rounding Errors in Algebraic
 * Processes, 1963). */
#ifndef OX_KERNELS_FIXED24_H
#define OX_KERNELS_FIXED24_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

struct ox_compute;
struct ox_dense;
struct ox_env;

/* Weight p of column j is the column's scale for p times a whole number. Four vectors of columns make a panel. Each block of
 * OX_FIXED24_DEPTH steps of p, the last one of fewer, begins with the scales of the panel's columns, whose bits below the upper
 * sixteen are zeros, two to a word: column v * W + l, W to a vector, in the lower half of word v / 2 * W + l, v even, or in the upper half, v
 * odd. A step takes three vectors of words: their three high bytes are numbers of the first three vectors, their low bytes those
 * of the fourth, from its high byte down. So a word is, as it is, the number of its own column: what stands in its low byte was
 * known when it was rounded. */
enum { OX_FIXED24_DEPTH = 32 };
struct ox_fixed24 {
    size_t n, k;
    const int32_t *words; /* of whole panels, on a cache line */
};

struct ox_fixed24_kernels {
    size_t panel; /* columns; divides OX_FIXED24_PANEL */
    /* c[i * ldc + j - first] = sum over p of a[i * lda + p] * weight p of column j, for i < rows, j in [first, first + n); `first`
     * begins a panel. */
    void (*multiply)(const struct ox_fixed24 *w, size_t first, size_t n, unsigned rows,
                     const float *a, size_t lda, float *c, size_t ldc);
};

enum { OX_FIXED24_PANEL = 64 };

/* Words of so many columns, of whole panels, k deep. */
static inline size_t ox_fixed24_words(size_t columns, size_t k)
{
    const size_t blocks = (k + OX_FIXED24_DEPTH - 1) / OX_FIXED24_DEPTH;
    return columns / 4 * 3 * k + columns / 2 * blocks;
}

const struct ox_fixed24_kernels *ox_fixed24_kernels(enum ox_cpu level);
/* Weights from which on they are faster than floats for so many rows; SIZE_MAX: never. */
size_t ox_fixed24_least(enum ox_cpu level, size_t rows);
/* Floats of room that n columns take; SIZE_MAX when that overflows. */
size_t ox_fixed24_room(size_t n, size_t k);
/* Weight p of column j is b[p * b_row + j * b_col], one of the two 1; `room` lies on a cache line. False: columns are so uneven (or not
 * finite) that floats are nearer to them. Threads by panels. */
bool ox_fixed24_pack(const struct ox_fixed24_kernels *t, struct ox_env *env, size_t n, size_t k,
                     const float *b, size_t b_row, size_t b_col, float *room,
                     struct ox_fixed24 *out);
/* Rows that weights are read for once. */
enum { OX_FIXED24_ROWS = 4 };
/* A product of d->m rows, which lie row by row, by these weights, with its epilogue: of d its left side, c and `end` are read. */
void ox_fixed24_run(const struct ox_compute *t, struct ox_env *env, const struct ox_fixed24 *w,
                    const struct ox_dense *d);

/* For fixed24.c. */
extern const struct ox_fixed24_kernels ox_fixed24_avx2, ox_fixed24_avx512;

#endif
