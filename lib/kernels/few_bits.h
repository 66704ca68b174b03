/* Products by weights of few bits with a scale a block, which are widened in registers, and never lie in memory as floats but for a
 * slab at a time. The weights are those of com.microsoft's MatMulNBits: columns of whole blocks of unsigned codes, low bits first. */
#ifndef OX_KERNELS_FEW_BITS_H
#define OX_KERNELS_FEW_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

struct ox_compute;
struct ox_env;

/* Weight p of column j is (code - zero) * scale, with the scale and the zero of block p / block. */
struct ox_few_bits {
    size_t k, block, blocks; /* k = block * blocks */
    unsigned bits;           /* 2, 4 or 8 */
    const uint8_t *codes;    /* [n][k * bits / 8] */
    const float *scales;     /* [n][blocks] */
    const uint8_t *zeros;    /* codes of `bits`, [n][zero_bytes]; NULL: */
    size_t zero_bytes;
    const float *real_zeros; /* [n][blocks]; NULL: 2^(bits - 1) */
    /* Of 4 bits, [16]: a weight is values[code] * scale, and the first code of a byte is that in the high bits, as in MatMulBnb4.
     * Only for the kernels of this file that are no panels. NULL: as above. */
    const float *values;
};

enum { OX_FEW_BITS_ROWS = 8 };

struct ox_few_bits_kernels {
    /* Elements of a row lie as the weights of a vector come out of their bytes: of each `chunk` of them those in even places before
     * the odd ones. 1: as they are. Only for 4 bits. */
    size_t chunk;
    unsigned rows; /* that dots takes at most; no more than OX_FEW_BITS_ROWS */
    /* c[i * ldc + j - first] = sum over p of a[i * lda + p] * weight p of column j, for i < rows <= those, j in [first,
     * first + n); rows of a are arranged. */
    void (*dots)(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc);
    /* The weights of a column, arranged, or in their order: out[k]. */
    void (*widen)(const struct ox_few_bits *w, size_t column, float *out);
    void (*list)(const struct ox_few_bits *w, size_t column, float *out);
    /* The weights of columns [first, first + cols), in their order, as a panel of packed columns: out[p * panel_cols + column - first],
     * a vector's alignment; what lies beyond cols <= panel_cols is unspecified. For blocks of a multiple of panel_bytes, or an
     * even number of half as many. NULL: none. */
    void (*panel)(const struct ox_few_bits *w, size_t first, size_t cols, float *out);
    size_t panel_cols, panel_bytes;
};

/* For these sizes at that level. */
const struct ox_few_bits_kernels *ox_few_bits_kernels(enum ox_cpu level,
                                                      const struct ox_few_bits *w);
static inline bool ox_few_bits_makes_panels(const struct ox_few_bits_kernels *t,
                                            const struct ox_few_bits *w, size_t cols)
{
    const size_t bytes = w->block * w->bits / 8;
    return t->panel && t->panel_cols == cols && !w->values &&
           (bytes % t->panel_bytes == 0 || (2 * bytes == t->panel_bytes && w->blocks % 2 == 0));
}
/* c [m, n] = a [m, k] by weights that make panels of compute->nr columns, + bias. */
struct ox_few_bits_product {
    const struct ox_few_bits *w;
    const struct ox_few_bits_kernels *kernels;
    const struct ox_compute *compute;
    size_t m, n;
    const float *a, *bias; /* [n]; NULL: none */
    float *c, *work;
};
/* Floats of work; SIZE_MAX when that overflows. */
size_t ox_few_bits_work(const struct ox_env *env, const struct ox_few_bits_product *p);
/* The same bits for any number of threads. */
void ox_few_bits_run(struct ox_env *env, struct ox_few_bits_product *p);
/* A row of k elements as the kernels want it. */
void ox_few_bits_arrange(const struct ox_few_bits_kernels *t, const struct ox_few_bits *w,
                         const float *a, float *out);

/* Code i of a row of bytes. */
static inline unsigned ox_few_bits_code(const uint8_t *bytes, size_t i, unsigned bits)
{
    const size_t per_byte = 8 / bits;
    return bytes[i / per_byte] >> (i % per_byte * bits) & ((1u << bits) - 1);
}

static inline float ox_few_bits_zero(const struct ox_few_bits *w, size_t column, size_t block)
{
    if (w->real_zeros)
        return w->real_zeros[column * w->blocks + block];
    if (w->zeros)
        return (float)ox_few_bits_code(w->zeros + column * w->zero_bytes, block, w->bits);
    return (float)(1u << (w->bits - 1));
}

/* For few_bits.c. */
extern const struct ox_few_bits_kernels ox_few_bits_avx2, ox_few_bits_avx2_wide, ox_few_bits_avx512;

#endif
