/* How a Resize node resizes, and the sizes that come of it. */
#ifndef OX_OPS_RESIZE_H
#define OX_OPS_RESIZE_H

#include "ops/resample.h"

struct ox_resize {
    struct ox_resample how;
    double extrapolation;
    struct ox_resample_axis axes[OX_MOVE_RANK];
};

/* Of inputs X, roi, scales, sizes (Resize 11) and the attributes, for data of in's shape. */
enum ox_status ox_resize_plan(struct ox_run *r, const struct ox_tensor *in, struct ox_resize *plan,
                              struct ox_error *err);
/* Of inputs X, scales: Upsample (9) and Resize (10). */
enum ox_status ox_upsample_plan(struct ox_run *r, struct ox_resize *plan, struct ox_error *err);
/* Of an axis that takes one or two points a place: table[2 i] and table[2 i + 1] are the elements that output i lies between,
 * weights[i] that of the first. */
enum ox_status ox_resize_pairs(struct ox_run *r, const struct ox_resize *plan, unsigned axis,
                               size_t *table, float *weights, struct ox_error *err);
/* Of float32 whose last two axes alone change, by any filter. */
enum ox_status ox_fast_resample(struct ox_run *r, const struct ox_resize *z, struct ox_error *err);
/* Linear Resize of 8-bit integers whose last two axes alone change, to `dims`: codes as the reference kernel has them. x is the
 * node's first input, of `planes` planes. */
enum ox_status ox_fast_resize_bytes(struct ox_run *r, const struct ox_resize *z, size_t planes,
                                    const int64_t *dims, struct ox_error *err);

#endif
