/* How the scales of QuantizeLinear and DequantizeLinear spread over a tensor. */
#ifndef OX_OPS_SCALE_SPREAD_H
#define OX_OPS_SCALE_SPREAD_H

#include "ops/op.h"

/* Of a tensor of outer x axis x inner elements: element (o, i, j) has the scale
 * o * per_outer + i / block * per_block + j * per_inner. */
struct ox_scale_spread {
    size_t outer, axis, inner;
    size_t block, per_outer, per_block, per_inner;
};

/* A stretch of n neighbours from element `at` on: with scales that move by `step`, 0 or 1. */
struct ox_stretch {
    size_t at, n, scale, step;
};

/* By the node's axis and block_size; OX_INPUT where x and its scale do not agree. */
enum ox_status ox_spread_scale(struct ox_run *r, const struct ox_tensor *x,
                               const struct ox_tensor *scale, struct ox_scale_spread *spread,
                               struct ox_error *err);
/* Makes rows of one element of a whole tensor with one scale, so that it can be cut too, and one row of rows of whole blocks. */
void ox_spread_cut(struct ox_scale_spread *spread);
/* The stretch that begins at *from, an index over outer x axis, which moves behind it, to `to` at most. */
struct ox_stretch ox_spread_next(const struct ox_scale_spread *spread, size_t *from, size_t to);

#endif
