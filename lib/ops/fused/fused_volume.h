/* Convolution over three axes as one over two, of maps with their channels last: slices are images, or lines over all pixels of a slice
 * are; else the slices that an output slice reads are put side by side, as more channels of one. */
#ifndef OX_OPS_FUSED_VOLUME_H
#define OX_OPS_FUSED_VOLUME_H

#include "kernels/convolve.h"
#include "ops/window.h"

/* How slices lie side by side; `taps` 0: nothing has to be moved. */
struct ox_slices {
    size_t taps, stride, dilation, pad;
    size_t images, in, out; /* slices of an image, and of its output */
    size_t at_once;         /* slices of the output that are put side by side at a time */
};

/* Sets the sizes of `c`, whose batch and channels are those of the volume, from a window of three axes; with taps its batch is
 * `at_once`. Of one group. */
void ox_volume_fold(const struct ox_window *w, struct ox_conv *c, struct ox_slices *s);
/* From [out][in][taps][points] to [out][taps][in][points]: the weights of the folded convolution `c`. */
void ox_volume_turn_weights(const struct ox_slices *s, const struct ox_conv *c,
                            const float *weights, float *out);
/* What output slices [from, from + n) of all images read, into `out`: [n][pixels][taps][channels]. */
void ox_volume_gather(struct ox_env *env, const struct ox_slices *s, const struct ox_conv *c,
                      const float *in, size_t from, size_t n, float *out);

#endif
