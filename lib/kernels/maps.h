/* Feature maps with adjacent channels (NHWC) in fp32: layout, pooling, resizing. */
#ifndef OX_KERNELS_MAPS_H
#define OX_KERNELS_MAPS_H

#include "kernels/dense.h"

/* y[n][w][c] = x[n][c][w] and back, `pixels` being all spatial positions; pixel: floats from pixel to pixel of the NHWC side. */
void ox_maps_to_nhwc(const struct ox_compute *t, struct ox_env *env, size_t batch, size_t channels,
                     size_t pixels, const float *x, float *y, size_t pixel);
void ox_maps_to_nchw(const struct ox_compute *t, struct ox_env *env, size_t batch, size_t channels,
                     size_t pixels, const float *x, size_t pixel, float *y);

enum ox_pool_kind {
    OX_POOL_MAX,           /* NaN only where a window has nothing else */
    OX_POOL_AVERAGE,       /* over the pixels inside */
    OX_POOL_AVERAGE_PADDED /* over the window as it lies in the padded image */
};

/* Height first in every pair. */
struct ox_pooling {
    enum ox_pool_kind kind;
    size_t batch, channels;
    size_t kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
    size_t in[2], out[2];
    size_t in_pixel, out_pixel;
};
void ox_maps_pool(const struct ox_compute *t, struct ox_env *env, const struct ox_pooling *p,
                  const float *in, float *out);
/* y[n][c] = mean (or max) over all pixels; y's rows are out_pixel floats apart. */
void ox_maps_pool_global(const struct ox_compute *t, struct ox_env *env, bool max, size_t batch,
                         size_t channels, size_t pixels, const float *in, size_t in_pixel,
                         float *out, size_t out_pixel);

/* Resizing by the caller's coordinate rule: output row y is row_weight[y] of input row row[2 y] and 1 - row_weight[y] of
 * row[2 y + 1]; columns likewise. */
struct ox_resizing {
    size_t batch, channels;
    size_t in[2], out[2];
    size_t in_pixel, out_pixel;
    const size_t *row, *col;              /* two indices for each of the output */
    const float *row_weight, *col_weight; /* NULL for both: nearest, only the first index is read */
};
void ox_maps_resize(const struct ox_compute *t, struct ox_env *env, const struct ox_resizing *r,
                    const float *in, float *out);

#endif
