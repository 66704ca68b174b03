/* Depthwise convolution over three axes in fp32, planes (NCDHW) to planes. */
#ifndef OX_KERNELS_CONVOLVE_VOLUME_H
#define OX_KERNELS_CONVOLVE_VOLUME_H

#include "kernels/dense.h"

/* Depth, height, width. Every size is checked by the caller; none of the output is 0. */
struct ox_volume_conv {
    size_t batch, channels;
    size_t kernel[3], stride[3], dilation[3];
    size_t pad[3]; /* before; what is missing after follows from `out` */
    size_t in[3], out[3];
    const float *x, *weights, *bias; /* weights: [channels][taps]; bias: NULL for none */
    float *y;
};

/* Whether a kernel's lines, and the part of the input that a block of channels reads for an output slice, are not too many. */
bool ox_volume_conv_fits(const struct ox_volume_conv *c);
/* Floats of work. */
size_t ox_volume_conv_work(const struct ox_env *env, const struct ox_volume_conv *c);
/* The same bits for any number of threads. */
void ox_volume_conv_run(const struct ox_compute *t, struct ox_env *env,
                        const struct ox_volume_conv *c, float *work);

#endif
