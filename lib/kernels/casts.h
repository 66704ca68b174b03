/* Rows of elements to another type: the pairs that models are full of. Each gives what ox_elements_convert() gives, bit by bit. */
#ifndef OX_KERNELS_CASTS_H
#define OX_KERNELS_CASTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "kernels/cpu.h"

/* A pair of types; y must not overlap x. Of bool only 0 and 1 are read and written. What is too large for a float
 * of 8 bits becomes the largest. */
struct ox_cast {
    void (*run)(size_t n, const void *x, void *y);
};

/* Directly, or through float32 where that loses nothing. False: neither; nothing was done. */
bool ox_cast_run(enum ox_cpu level, enum ox_dtype from, enum ox_dtype to, size_t n, const void *x,
                 void *y);

/* The pair by an instruction set; NULL: there is none. For casts.c. */
const struct ox_cast *ox_casts_avx2(enum ox_dtype from, enum ox_dtype to);

#endif
