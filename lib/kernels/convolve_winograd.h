/* What convolve_winograd*.c share. */
#ifndef OX_KERNELS_CONVOLVE_WINOGRAD_H
#define OX_KERNELS_CONVOLVE_WINOGRAD_H

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"
#include "kernels/winograd_shape.h"

struct ox_winograd_job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    unsigned tile;
    size_t side[2]; /* its outputs each way */
    const float *packed, *in, *zeros;
    float *out, *work;
    const struct ox_epilogue *end;
    size_t in_batch, out_batch;
    size_t down, across, tiles; /* tiles of an image each way, of all images */
    size_t groups, group, step; /* tasks, tiles of the largest, and where they may begin */
    size_t in_plane,
        out_plane; /* floats from point to point: lines of different points must not share their cache sets */
    size_t slot;  /* floats of work, */
    size_t parts; /* of which so many are for parts */
    size_t depth; /* channels of the transformed input that lie together, */
    size_t cut;   /* and floats from a piece of the kernel to the next */
};

/* Sizes for weights that are transformed beforehand. */
void ox_winograd_plan(const struct ox_compute *t, const struct ox_conv *c, unsigned tile,
                      size_t slots, struct ox_winograd_job *j);
/* Floats of zeros at the beginning of work: pixels outside. */
size_t ox_winograd_zeros(const struct ox_conv *c);
void ox_winograd_begin(struct ox_winograd_job *j, const float *packed, const float *in, float *out,
                       const struct ox_epilogue *end, float *work);
double ox_winograd_flops(const struct ox_winograd_job *j);
/* What pieces [from, from + cuts) of the kernel read of n tiles, transformed. Channels lie `depth` together: all points of those, then all
 * points of the next. */
void ox_winograd_inputs(const struct ox_winograd_job *j, size_t first, size_t n, size_t from,
                        size_t cuts, float *v);
/* Channels [col, col + cols) of n tiles whose products are `ld` apart. */
void ox_winograd_outputs(const struct ox_winograd_job *j, size_t first, size_t n, size_t col,
                         size_t cols, const float *m, size_t ld);

#endif
