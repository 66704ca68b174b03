/* Random numbers by counter, the same bits at every level: Philox4x32-10 (Salmon et al., SC 2011), keyed by a seed. */
#ifndef OX_KERNELS_DRAWS_H
#define OX_KERNELS_DRAWS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* In [0, 1), the upper 53 bits of two words. */
static inline double ox_unit(uint32_t high, uint32_t low)
{
    return (double)(high >> 5) * 0x1p-27 + (double)(low >> 6) * 0x1p-53;
}

/* Two numbers for each of n blocks from `block` on. */
struct ox_draws {
    /* In [0, 1), 53 bits. */
    void (*uniform)(uint64_t seed, uint64_t block, size_t n, double *out);
    /* Mean 0, deviation 1: Box and Muller's method on the uniform numbers of a block, cosine first. */
    void (*normal)(uint64_t seed, uint64_t block, size_t n, double *out);
};

/* Constant. */
const struct ox_draws *ox_draws(enum ox_cpu level);

/* For draws.c. */
extern const struct ox_draws ox_draws_avx2, ox_draws_avx512;

#endif
