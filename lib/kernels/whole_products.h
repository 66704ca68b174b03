/* Products of matrices of integers of 32 and 64 bits, which wrap: signed ones have the same bits. */
#ifndef OX_KERNELS_WHOLE_PRODUCTS_H
#define OX_KERNELS_WHOLE_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* c[i * ldc + j] = (add ? c : 0) + sum over p of a[i * a_row + p * a_col] * b[p * b_row + j * b_col]. */
struct ox_whole_products {
    void (*u32)(size_t m, size_t n, size_t k, const uint32_t *a, size_t a_row, size_t a_col,
                const uint32_t *b, size_t b_row, size_t b_col, uint32_t *c, size_t ldc, bool add);
    void (*u64)(size_t m, size_t n, size_t k, const uint64_t *a, size_t a_row, size_t a_col,
                const uint64_t *b, size_t b_row, size_t b_col, uint64_t *c, size_t ldc, bool add);
};

/* Constant. */
const struct ox_whole_products *ox_whole_products(enum ox_cpu level);

/* By an instruction set; for whole_products.c. */
extern const struct ox_whole_products ox_whole_products_avx2;

#endif
