/* How a Resize node resizes, and the sizes that come of it. */
#ifndef OX_OPS_RESIZE_H
#define OX_OPS_RESIZE_H

#include "ops/infer.h"
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
/* Of float32 of which two neighbouring axes alone change, by any filter. */
enum ox_status ox_fast_resample(struct ox_run *r, const struct ox_resize *z, struct ox_error *err);
/* A tensor of which two neighbouring axes alone change, `axis` and the next: [planes, in, in, inner] to [planes, out, out,
 * inner]. */
struct ox_resize_planes {
    unsigned axis;
    size_t planes, in[2], out[2], inner;
    int64_t dims[OX_MOVE_RANK];
};

/* False: other axes change too, to points of more than two elements, or to none that the tensor has (but the nearest of a region:
 * ox_resample_nearest_list()). */
bool ox_resize_as_planes(const struct ox_resize *z, const struct ox_tensor *x,
                         struct ox_resize_planes *planes);
/* Linear Resize of integers, and Resize of any elements to the nearest, of two neighbouring axes of the node's first input:
 * elements as the reference kernel has them. */
enum ox_status ox_fast_resize_whole(struct ox_run *r, const struct ox_resize *z,
                                    struct ox_error *err);
enum ox_status ox_fast_resize_nearest(struct ox_run *r, const struct ox_resize *z,
                                      struct ox_error *err);

/* floor(dim * extent * scale) in float32, as the standard's own shape inference has it: a scale of 0.7 makes 7 of 10. */
bool ox_resize_scaled(int64_t dim, double extent, double scale, int64_t *out);

/* Shape rules: of Resize from opset 11 on, and of Upsample and Resize 10 (resize_rules.c). */
void ox_infer_resize(struct ox_infer *c);
void ox_infer_upsample(struct ox_infer *c);

#endif
