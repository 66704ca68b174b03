/* Products of few_bits.h by rows of bytes: floats become signed bytes with a scale a block, whose products by codes are summed without
 * rounding within a block. What accuracy_level 4 of com.microsoft's MatMulNBits allows. */
#ifndef OX_KERNELS_FEW_BITS_BYTES_H
#define OX_KERNELS_FEW_BITS_BYTES_H

#include <stdbool.h>

#include "kernels/few_bits.h"

/* Element p of row i is about scales[p / block][i] * codes[i][p], but that with weights of 4 bits of each eight codes those in even places
 * lie before those in odd ones. */
struct ox_byte_rows {
    size_t m, k, block, blocks; /* k = block * blocks; a part of a block of weights */
    int8_t *codes;              /* [m][k], -127 to 127 */
    float *scales, *sums;       /* [blocks][m]; of the codes of a block */
};

struct ox_few_bits_bytes {
    /* Row `row` becomes bytes. False when one of its numbers is not finite: it is undefined then. */
    bool (*quantize)(const struct ox_byte_rows *a, bool paired, const float *x, size_t row);
    /* c[i * ldc + j - first] = sum over p of element p of row i times weight p of column j, for all rows, j in [first, first + n): block
     * after block, whatever m and n are. */
    void (*dots)(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_byte_rows *a,
                 float *c, size_t ldc);
};

/* NULL where floats serve: bits that the kernels do not know, zeros that are no integers, levels whose vectors of floats are as fast. */
const struct ox_few_bits_bytes *ox_few_bits_bytes(enum ox_cpu level, const struct ox_few_bits *w);
/* The part of a block of weights that is a block of a row. */
size_t ox_byte_block(const struct ox_few_bits *w);

/* For few_bits_bytes.c. */
extern const struct ox_few_bits_bytes ox_few_bits_bytes_avx2;

#endif
