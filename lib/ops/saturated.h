/* Products of codes as x86 processors without 8-bit products of their own add them (ox_run.saturating). */
#ifndef OX_OPS_SATURATED_H
#define OX_OPS_SATURATED_H

#include "ops/op.h"

struct ox_saturated {
    size_t m, n, k;
    const uint8_t *a; /* [m, k] */
    const int8_t *b;  /* [k, n] */
};

/* c[i, j] += scale * by[j * step] * what it changes that neighbours along k are added in pairs, in 16 bits that saturate. by
 * NULL: 1. */
void ox_saturate(const struct ox_saturated *s, double scale, const double *by, size_t step,
                 double *c);

#endif
