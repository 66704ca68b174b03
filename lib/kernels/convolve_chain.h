/* A pointwise convolution, a depthwise one and another pointwise one as one: what lies between them stays in cache. */
#ifndef OX_KERNELS_CONVOLVE_CHAIN_H
#define OX_KERNELS_CONVOLVE_CHAIN_H

#include "kernels/convolve.h"

/* Channels are adjacent everywhere, in and out: the input has in_channels of them, the output of the last stage its own. */
struct ox_chain {
    struct ox_conv depthwise;
    size_t in_channels;  /* of the pointwise stage before; 0: there is none */
    size_t out_channels; /* of the one behind; 0: there is none */
    /* Of each stage, packed as ox_conv_pack() does for OX_CONV_POINTWISE and OX_CONV_DEPTHWISE. */
    const float *packed[3];
    struct ox_epilogue end[3]; /* a residual only at the last stage; row_bias is not used */
};

/* The pointwise stage before (0) or behind (2) as a convolution of its own, for packing. */
struct ox_conv ox_chain_stage(const struct ox_chain *c, unsigned stage);
/* Floats of work that ox_chain_run() needs; SIZE_MAX when that overflows. */
size_t ox_chain_work(const struct ox_compute *t, const struct ox_env *env,
                     const struct ox_chain *c);
/* The same bits as the three one after another, for any number of threads. */
void ox_chain_run(const struct ox_compute *t, struct ox_env *env, const struct ox_chain *c,
                  const float *in, float *out, float *work);

#endif
