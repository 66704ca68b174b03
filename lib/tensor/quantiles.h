/* Order statistics of differences. */
#ifndef OX_TENSOR_QUANTILES_H
#define OX_TENSOR_QUANTILES_H

#include "tensor/tensor.h"

/* Differences of all elements so far, absolute and relative to b; zeroed to begin with. */
struct ox_quantiles {
    double *abs, *rel;
    size_t n;
};

/* Of tensors of one shape, of real numbers. What is equal, infinities and NaNs on both sides too, differs by 0; by a difference from 0 the
 * relative one is infinite. false: out of memory. */
bool ox_quantiles_add(struct ox_quantiles *q, const struct ox_tensor *a, const struct ox_tensor *b);
void ox_quantiles_release(struct ox_quantiles *q);

/* Of n > 0 values, which change places, linear between two of them as numpy.quantile has it; 0 <= share <= 1. */
double ox_quantile(double *values, size_t n, double share);

#endif
