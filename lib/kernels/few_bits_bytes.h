/* Products of few_bits.h by rows of bytes: floats become signed bytes with a scale a block, whose products by codes are summed without
 * rounding within a block. What accuracy_level 4 of com.microsoft's MatMulNBits allows. */
#ifndef OX_KERNELS_FEW_BITS_BYTES_H
#define OX_KERNELS_FEW_BITS_BYTES_H

#include <stdbool.h>

#include "kernels/few_bits.h"

/* Element p of row i is about scales[p / block][i] * codes[i][p], but that of each `chunk` codes (or
 * of what a last one has) those in even places lie before those in odd ones. */
struct ox_byte_rows {
    size_t m, k, block, blocks; /* k = block * blocks; a part of a block of weights */
    size_t chunk;               /* 1: as they are */
    int8_t *codes;              /* [m][k], -127 to 127 */
    float *scales, *sums;       /* [blocks][m]; of the codes of a block */
};

struct ox_few_bits_bytes {
    /* Row `row` becomes bytes. False when one of its numbers is not finite: it is undefined then. */
    bool (*quantize)(const struct ox_byte_rows *a, const float *x, size_t row);
    /* c[i * ldc + j - first] = sum over p of element p of row i times weight p of column j, for all rows, j in [first, first + n): block
     * after block, whatever m and n are. */
    void (*dots)(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_byte_rows *a,
                 float *c, size_t ldc);
};

/* NULL where floats serve: bits that the kernels do not know, blocks of fewer than 32 codes of 4, zeros that are no integers, levels whose vectors
 * of floats are as fast. */
const struct ox_few_bits_bytes *ox_few_bits_bytes(enum ox_cpu level, const struct ox_few_bits *w);
/* Sizes of m rows, as kernels want them; nothing is allocated. */
struct ox_byte_rows ox_byte_rows(const struct ox_few_bits *w, size_t m);

/* As many rows as are multiplied by columns that are not turned before, in chunks of their own. */
enum { OX_BYTE_ROWS_FEW = 3 };

static inline bool ox_byte_rows_are_few(const struct ox_byte_rows *a)
{
    return a->m <= OX_BYTE_ROWS_FEW;
}

/* Where element p of a row lies. */
static inline size_t ox_byte_place(const struct ox_byte_rows *a, size_t p)
{
    const size_t from = p / a->chunk * a->chunk;
    const size_t n = a->k - from < a->chunk ? a->k - from : a->chunk;
    return from + (p - from) / 2 + (p - from) % 2 * (n / 2);
}

/* For few_bits_bytes.c. */
extern const struct ox_few_bits_bytes ox_few_bits_bytes_avx2;

#endif
