/* Products of few rows by weights of 24 bits in fixed point, a scale a column: weights that are read again and again from a cache
 * beyond the core's own take three quarters of the time. A weight is kept to 2^-24 of the greatest of its column, which is as near
 * as a float keeps that one. */
#ifndef OX_KERNELS_FIXED24_H
#define OX_KERNELS_FIXED24_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

struct ox_env;

/* Weight p of column j is scales[j] times a whole number. Four vectors of columns make a panel, in which a step of p takes three
 * vectors of words: their three high bytes are numbers of the first three vectors, their low bytes those of the fourth, from its
 * high byte down. So a word is, as it is, the number of its own column: what stands in its low byte was known when it was rounded. */
struct ox_fixed24 {
    size_t n, k;
    const int32_t *words; /* [panels][k][3 / 4 of a panel], on a cache line */
    const float *scales;  /* of whole panels */
};

struct ox_fixed24_kernels {
    size_t panel; /* columns; divides OX_FIXED24_PANEL */
    /* c[i * ldc + j - first] = sum over p of a[i * lda + p] * weight p of column j, for i < rows, j in [first, first + n); `first`
     * begins a panel. */
    void (*multiply)(const struct ox_fixed24 *w, size_t first, size_t n, unsigned rows,
                     const float *a, size_t lda, float *c, size_t ldc);
};

enum { OX_FIXED24_PANEL = 64 };

const struct ox_fixed24_kernels *ox_fixed24_kernels(enum ox_cpu level);
/* Weights from which on they are faster than floats; SIZE_MAX: never. */
size_t ox_fixed24_least(enum ox_cpu level);
/* Floats of room that n columns take, their scales before the words; SIZE_MAX when that overflows. */
size_t ox_fixed24_room(size_t n, size_t k);
/* Weight p of column j is b[j * k + p]; `room` lies on a cache line. False: columns are so uneven (or not finite) that floats are
 * nearer to them. Threads by panels. */
bool ox_fixed24_pack(const struct ox_fixed24_kernels *t, struct ox_env *env, size_t n, size_t k,
                     const float *b, float *room, struct ox_fixed24 *out);

/* For fixed24.c. */
extern const struct ox_fixed24_kernels ox_fixed24_avx2, ox_fixed24_avx512;

#endif
