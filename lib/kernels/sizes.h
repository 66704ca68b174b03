/* Arithmetic of sizes that kernels and their plans share. */
#ifndef OX_KERNELS_SIZES_H
#define OX_KERNELS_SIZES_H

#include <stddef.h>

static inline size_t ox_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* To a multiple; x is far from overflowing. */
static inline size_t ox_round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* The size of parts of at most `most` that are as equal as steps of `step` allow. */
static inline size_t ox_even_part(size_t x, size_t most, size_t step)
{
    const size_t parts = x ? (x + most - 1) / most : 1, part = (x + parts - 1) / parts;
    return (part + step - 1) / step * step;
}

/* Where part i of so many of x begins, and at `parts` where the last ends: parts are as equal as steps of `step` allow, and none is longer
 * than one on average, rounded up to a step. */
static inline size_t ox_part_at(size_t x, size_t parts, size_t step, size_t i)
{
    return ox_least(x, ox_round_up((i * x + parts - 1) / parts, step));
}

#endif
