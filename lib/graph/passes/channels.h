/* Constants that have an element for each channel. What is returned is valid until rewriting ends. */
#ifndef OX_GRAPH_CHANNELS_H
#define OX_GRAPH_CHANNELS_H

#include "graph/pass.h"

/* A constant vector of `channels` elements, written to out. false: it is none, or is not real. */
bool ox_channel_vector(struct ox_rewrite *rw, const struct ox_value *value, int64_t channels,
                       double *out);
/* A constant of one element or one for each channel, [channels], where it is broadcast to a value of that rank whose channels are
 * `axis` (from the end when negative). NULL: it is something else, or would widen the value. */
const double *ox_channel_const(struct ox_rewrite *rw, const struct ox_value *value, int rank,
                               int axis, int64_t channels);
/* Whether a node is batch norm by given statistics, whose other outputs nobody uses. */
bool ox_batch_norm_is_affine(const struct ox_rewrite *rw, const struct ox_node *node);
/* What such a node multiplies each channel by, [channels], and behind it what it adds then, [channels]: scale / sqrt(variance +
 * epsilon), bias - mean * that (ONNX, BatchNormalization). NULL: statistics that vary, or of another count. */
const double *ox_batch_norm_factors(struct ox_rewrite *rw, const struct ox_node *norm,
                                    int64_t channels);

/* A new constant of a type that weights have, of doubles rounded to it. NULL: out of memory. */
struct ox_value *ox_rounded_constant(struct ox_rewrite *rw, const char *name, enum ox_dtype dtype,
                                     unsigned rank, const int64_t *dims, const double *data);
/* What follows Conv, ConvTranspose, Gemm or MatMul by constant weights of its own goes into these where it is batch norm or
 * arithmetic by a constant a channel; the node makes what that made. false: it is something else, nothing was done. */
bool ox_fold_next(struct ox_rewrite *rw, struct ox_node *node);

/* ConvTranspose of stride 1 by constant weights becomes Conv where it can; its attributes say its sizes (no auto_pad, output_shape). */
void ox_flip_transposed(struct ox_rewrite *rw, struct ox_node *node);

/* Leaves out the taps of Conv or FusedConv, not transposed, by constant float32 weights that meet padding alone at every output; sizes that are
 * not known leave it as it is. */
void ox_crop_kernel(struct ox_rewrite *rw, struct ox_node *conv);

/* Whether each number of a list attribute is that; so it is of none. */
bool ox_attr_all_are(const struct ox_node *node, const char *name, int64_t wanted);

/* A convolution's attribute of spatial axis d, 1 where it has none; 0: the list is of no use. */
int64_t ox_conv_of_axis(const struct ox_node *conv, const char *name, unsigned spatial, unsigned d);

/* Whether a FusedConv by constant weights makes each pixel of the pixel at its place. */
bool ox_conv_is_pointwise(struct ox_rewrite *rw, const struct ox_node *node);

#endif
