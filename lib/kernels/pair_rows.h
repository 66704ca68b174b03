/* Rows of two operands whose types the least instruction set has no vectors for: comparing elements of 64 bits, quotients of int32. */
#ifndef OX_KERNELS_PAIR_ROWS_H
#define OX_KERNELS_PAIR_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

enum ox_pair_order { OX_PAIR_EQUAL, OX_PAIR_GREATER, OX_PAIR_GREATER_EQUAL, OX_PAIR_ORDERS };

/* A step is 1, or 0 where the first element serves all. */
struct ox_pairs {
    /* y[i] = a[i] ? b[i]. */
    void (*compare_f64[OX_PAIR_ORDERS])(size_t n, const void *a, size_t a_step, const void *b,
                                        size_t b_step, uint8_t *y);
    void (*compare_i64[OX_PAIR_ORDERS])(size_t n, const void *a, size_t a_step, const void *b,
                                        size_t b_step, uint8_t *y);
    /* Rounded towards 0; by 0: 0; what does not fit wraps. */
    void (*divide_i32)(size_t n, const int32_t *a, size_t a_step, const int32_t *b, size_t b_step,
                       int32_t *y);
};

const struct ox_pairs *ox_pairs(enum ox_cpu level);

/* The same compiled for an instruction set; for pair_rows.c. */
extern const struct ox_pairs ox_pairs_avx2;

#endif
