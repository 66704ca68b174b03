/* Rows of two operands whose types the least instruction set has no vectors for: comparing elements of 64 bits, quotients of int32,
 * the greater and the lesser, products of integers, remainders of floats. */
#ifndef OX_KERNELS_PAIR_ROWS_H
#define OX_KERNELS_PAIR_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"
#include "onnxtool.h"

enum ox_pair_order { OX_PAIR_EQUAL, OX_PAIR_GREATER, OX_PAIR_GREATER_EQUAL, OX_PAIR_ORDERS };

enum ox_pair_value {
    OX_PAIR_MAX, /* NaN where one is */
    OX_PAIR_MIN,
    OX_PAIR_MUL,  /* wraps */
    OX_PAIR_DIV,  /* rounded towards 0; by 0: 0; what does not fit wraps */
    OX_PAIR_REST, /* fmod() */
    OX_PAIR_VALUES
};

/* Of n elements each, y without overlap. A step is 1, or 0 where the first element serves all. */
struct ox_pairs {
    /* y[i] = a[i] ? b[i], a byte each. */
    void (*compare_f64[OX_PAIR_ORDERS])(size_t n, const void *a, size_t a_step, const void *b,
                                        size_t b_step, void *y);
    void (*compare_i64[OX_PAIR_ORDERS])(size_t n, const void *a, size_t a_step, const void *b,
                                        size_t b_step, void *y);
    /* NULL: nothing better than a plain loop. */
    void (*value[OX_PAIR_VALUES][OX_N_DTYPES])(size_t n, const void *a, size_t a_step,
                                               const void *b, size_t b_step, void *y);
};

const struct ox_pairs *ox_pairs(enum ox_cpu level);

/* The same compiled for an instruction set; for pair_rows.c. */
extern const struct ox_pairs ox_pairs_avx2;

#endif
