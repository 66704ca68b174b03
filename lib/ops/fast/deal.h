/* A line's elements in turn to several lines. */
#ifndef OX_OPS_FAST_DEAL_H
#define OX_OPS_FAST_DEAL_H

#include <stddef.h>

static inline void ox_deal_two(const float *x, size_t n, float *restrict even, float *restrict odd)
{
    for (size_t i = 0; i < n / 2; i++) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    if (n % 2)
        even[n / 2] = x[n - 1];
}

#endif
