/* Pools in float32, shared by their forms. */
#ifndef OX_OPS_FAST_POOL_H
#define OX_OPS_FAST_POOL_H

#include "kernels/dense.h"
#include "ops/fast.h"

enum { OX_POOL_TAPS = 64 }; /* the most of a window along one axis */

struct ox_pool_axis {
    size_t in, out, kernel, stride, dilation, before, after;
};

struct ox_pools {
    const struct ox_compute *t;
    struct ox_pool_axis z, y, x;
    bool max;
    const float *in,
        *counts; /* counts: taps of a window along each axis, z, y, then x; NULL: max */
    float *out, *work;
    size_t row,
        slot; /* floats of a row with its padding; of a task: that row, and that row dealt out */
};

/* out = the largest, or the sum, of n floats of each of the rows. */
void ox_pool_reduce(const struct ox_pools *p, size_t n, size_t rows, const float *const *in,
                    float *out);

/* Narrow planes: so many of them at a time, with so many floats of work; all of p but work, row and slot is given. */
bool ox_pool_is_narrow(const struct ox_pools *p);
size_t ox_pool_narrow_planes(const struct ox_pools *p);
size_t ox_pool_narrow_work(const struct ox_pools *p);
void ox_pool_narrow(const struct ox_pools *p, size_t from, size_t n, float *work);

#endif
