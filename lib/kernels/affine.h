/* A factor and an addend a column, and limits: what batch norm and Relu make of rows. */
#ifndef OX_KERNELS_AFFINE_H
#define OX_KERNELS_AFFINE_H

#include <stddef.h>

#include "kernels/cpu.h"

/* y = min(max(x scale + shift, lo), hi), rounded after each of the two; NaN stays. y overlaps nothing. */
struct ox_affine {
    size_t rows, n;
    const float *x, *scale, *shift;
    float lo, hi; /* -infinity, infinity: none */
    float *y;
    size_t x_step, y_step; /* floats from row to row */
};

void ox_affine(enum ox_cpu level, const struct ox_affine *a);

/* For affine.c. */
void ox_affine_avx2(const struct ox_affine *a);
void ox_affine_avx512(const struct ox_affine *a);

#endif
