/* A convolution and the pool of its outputs, together. */
#ifndef OX_KERNELS_CONVOLVE_POOLED_H
#define OX_KERNELS_CONVOLVE_POOLED_H

#include "kernels/convolve.h"
#include "kernels/maps.h"

/* Floats of work that ox_conv_pooled() needs; SIZE_MAX when that overflows. `c` goes by OX_CONV_PADDED, has no residual, and what it
 * makes is what `p` takes in: batch, sizes, channels. */
size_t ox_conv_pooled_work(const struct ox_compute *t, const struct ox_env *env,
                           const struct ox_conv *c, const struct ox_pooling *p);
/* out[batch][p->out[0]][p->out[1]][p->out_pixel]: the same bits as ox_conv_run() and ox_maps_pool() one after the other, for any number
 * of threads. */
void ox_conv_pooled(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const struct ox_pooling *p, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work);

#endif
