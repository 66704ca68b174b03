/* Normally distributed numbers, the same at every level. */
#ifndef OX_KERNELS_NORMALS_H
#define OX_KERNELS_NORMALS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* What SplitMix64 (Steele, Lea, Flood 2014) adds to its state at each draw, and makes of that state. */
#define OX_SPLIT_STEP 0x9E3779B97F4A7C15u

static inline uint64_t ox_split_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* n numbers by Box and Muller, of two draws each. */
void ox_normals(enum ox_cpu level, uint64_t *state, size_t n, double *out);

/* For normals.c. */
void ox_normals_avx2(uint64_t state, size_t n, double *out);
void ox_normals_avx512(uint64_t state, size_t n, double *out);

#endif
