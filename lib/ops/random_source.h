/* Random numbers that are the same on every machine and for any number of threads: no function of the C library is used. */
#ifndef OX_OPS_RANDOM_SOURCE_H
#define OX_OPS_RANDOM_SOURCE_H

#include "tensor/tensor.h"

/* ---- By counter, as kernels/draws.h: number i of a stream depends on the seed and on nothing else. */

/* In [0, 1), 53 bits. */
double ox_random_uniform(uint64_t seed, uint64_t i);
/* Mean 0, deviation 1: Box and Muller's method, on the two halves of block i / 2. */
double ox_random_normal(uint64_t seed, uint64_t i);

/* ---- In order: MT19937, for Dropout, whose masks are those of numpy.random.RandomState(seed).uniform() */

struct ox_mt19937 {
    uint32_t state[624];
    unsigned at;
};

/* A seed of 32 bits is taken as numpy takes it, a longer one as the array of its two halves. */
void ox_mt19937_init(struct ox_mt19937 *mt, uint64_t seed);
/* The next n numbers, in [0, 1), 53 bits. */
void ox_mt19937_uniforms(struct ox_mt19937 *mt, size_t n, double *out);

/* out (which may be x): elements in their order, kept and multiplied by 1 / (1 - ratio) where a uniform number is at least `ratio`, else
 * 0; mask, of the same shape, tells which; NULL: not wanted. */
void ox_random_drop(const struct ox_tensor *x, double ratio, uint64_t seed, struct ox_tensor *out,
                    struct ox_tensor *mask);

#endif
