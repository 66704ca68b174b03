/* Convolution in fp32 over planes as they lie (NCHW), any number of axes: pixels are packed as the right side of a product of the
 * weights, which are read in place. For what feature maps with adjacent channels do not take. */
#ifndef OX_KERNELS_CONVOLVE_PLANES_H
#define OX_KERNELS_CONVOLVE_PLANES_H

#include "kernels/dense.h"

/* y[i][p] = bias[i] + sum over c, t of weights[i][c][t] * x[c][start(p) + tap[t]], where pixel p = l * width + o starts at line[l] + o. */
struct ox_plane_conv {
    size_t rows, channels, taps;
    size_t lines, width;
    const size_t *tap, *line;
    size_t
        plane; /* floats from channel to channel of x; OX_PLANE_SLACK may be read behind the last */
    bool ends; /* or not: nothing is behind it, and there is one line */
    const float *x;                /* batch by groups, `channels` planes each */
    const float *weights, *bias;   /* of all groups; bias: NULL for none */
    const struct ox_epilogue *end; /* its activation follows; NULL: none */
    float *y;
    size_t batch, groups;
};
enum { OX_PLANE_SLACK = OX_TILE_COLS_MAX };

/* Floats of work; SIZE_MAX when that overflows. */
size_t ox_plane_conv_work(const struct ox_compute *t, const struct ox_env *env,
                          const struct ox_plane_conv *c);
/* The same bits for any number of threads. work is 64-byte aligned. */
void ox_plane_conv_run(const struct ox_compute *t, struct ox_env *env,
                       const struct ox_plane_conv *c, float *work);

#endif
