/* Convolution in fp32 of planes as they lie, each by a filter of its own: blurs, edges, depthwise convolutions between planes. */
#ifndef OX_KERNELS_CONVOLVE_FILTER_H
#define OX_KERNELS_CONVOLVE_FILTER_H

#include "kernels/dense.h"

/* y[p][l][i] = bias + sum over taps t of weights[t] * frame(p)[line[l] + tap[t] + i], i < width; weights [filters][taps] and bias
 * [filters] or NULL are those of filter p % filters. */
struct ox_filter_conv {
    size_t planes, filters;
    size_t lines, width, taps;
    const size_t *tap, *line;
    const float *weights, *bias;
    const struct ox_epilogue *end; /* its activation follows; NULL: none */
    /* Where a plane with its padding lies; `room` has place for it. */
    const float *(*frame)(const void *arg, size_t plane, float *room);
    const void *arg;
    size_t room; /* floats; 0: frame() needs none, and planes are shared out by lines */
    float *y;
};

/* Whether outputs of groups that read the pixels in their own place alone are summed fastest one by one: what a group reads stays near
 * for its few outputs. */
static inline bool ox_filter_conv_is_few(size_t pixels, size_t groups, size_t in_group,
                                         size_t out_group)
{
    return pixels >= 8 && groups > 1 && out_group <= 8 && in_group <= 64;
}

/* Floats of work; SIZE_MAX when that overflows. */
size_t ox_filter_conv_work(const struct ox_env *env, const struct ox_filter_conv *c);
/* The same bits for any number of threads. */
void ox_filter_conv_run(const struct ox_compute *t, struct ox_env *env,
                        const struct ox_filter_conv *c, float *work);

#endif
