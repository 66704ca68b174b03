/* What convolve.c shares with convolve_*.c. */
#ifndef OX_KERNELS_CONVOLVE_IMPL_H
#define OX_KERNELS_CONVOLVE_IMPL_H

#include "kernels/convolve.h"
#include "kernels/dense_impl.h"

/* One sum over taps at equal steps: a convolution is one of these, a transposed one has one for each pair of remainders of
 * the output's position by the stride. Output (ty, tx) of `count` lies at first_out + t * out_step of the image and reads, for
 * tap (i, j) of `taps`, the input pixel t * step + offset + (i, j) * tap_offset; that tap is (i, j) * tap_step + first_tap
 * of the weights. */
struct ox_conv_phase {
    size_t count[2], first_out[2], out_step[2];
    size_t step[2];
    ptrdiff_t offset[2], tap_offset[2];
    size_t taps[2], first_tap[2], tap_step[2];
};
/* The phase number i; false past the last. */
bool ox_conv_phase(const struct ox_conv *c, size_t i, struct ox_conv_phase *p);

void ox_conv_indirect_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           const void *weights, enum ox_weight_type type, float *out);
size_t ox_conv_indirect_packed(const struct ox_compute *t, const struct ox_conv *c);
size_t ox_conv_indirect_work(const struct ox_conv *c);
void ox_conv_indirect(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                      const float *packed, const float *in, float *out,
                      const struct ox_epilogue *end, float *work);

/* Whether ox_conv_indirect() copies what each output reads side by side; floats of those rows; the convolution of them, by the same packed
 * weights. */
bool ox_conv_gathers(const struct ox_conv *c);
size_t ox_conv_gather_work(const struct ox_conv *c);
struct ox_conv ox_conv_gathered(const struct ox_conv *c);
void ox_conv_gather(struct ox_env *env, const struct ox_conv *c, const float *in, float *rows);

/* What outputs read, as rows of a struct ox_made; whether OX_CONV_INDIRECT goes so, as products by parts (triples.h) gain more than copying
 * costs; and that product, by the same packed weights. */
struct ox_conv_rows {
    const struct ox_conv *c;
    const float *in;
};
void ox_conv_gather_rows(const void *arg, size_t first, size_t n, float *to);
bool ox_conv_gathers_parts(const struct ox_compute *t, const struct ox_conv *c);
struct ox_dense ox_conv_gathered_product(const struct ox_conv *c, const struct ox_made *made);

/* Floats of lines that stay in L2 beside a part of the weights. */
enum { OX_CONV_NARROW_FLOATS = 3 << 16 };
/* Of one group. */
bool ox_conv_narrow_fits(const struct ox_compute *t, const struct ox_conv *c);
/* abreast: neighbouring outputs that are columns of one product (ox_conv_abreast()); 1: each is for itself. */
size_t ox_conv_narrow_work(const struct ox_compute *t, const struct ox_conv *c, size_t abreast,
                           const struct ox_env *env);
void ox_conv_narrow(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    size_t abreast, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work);

/* The same for more than one group. */
bool ox_conv_groups_fits(const struct ox_conv *c);
size_t ox_conv_groups_work(const struct ox_compute *t, const struct ox_conv *c,
                           const struct ox_env *env);
void ox_conv_groups(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const float *packed, const float *in, float *out, const struct ox_epilogue *end,
                    float *work);

/* Neighbouring outputs as columns of one product: columns and taps of a row that one has alone, and taps from one to the next. */
struct ox_abreast {
    size_t cols, taps, step;
};
/* Time of the products for each output: a core that loads one vector a cycle does one product a cycle with one vector of columns,
 * almost two with two. */
double ox_abreast_cost(const struct ox_compute *t, const struct ox_abreast *a, size_t abreast);
/* How many cost the least. */
size_t ox_abreast_best(const struct ox_compute *t, const struct ox_abreast *a);

/* How many outputs should be columns of one product; 1: none. Depends on what stays when images have other sizes. */
size_t ox_conv_abreast(const struct ox_compute *t, const struct ox_conv *c);
bool ox_conv_abreast_fits(const struct ox_compute *t, const struct ox_conv *c);
/* Taps of a kernel's row that such a product has. */
static inline size_t ox_conv_abreast_taps(const struct ox_conv *c, size_t abreast)
{
    return c->kernel[1] + (abreast - 1) * c->stride[1];
}
size_t ox_conv_abreast_packed(const struct ox_compute *t, const struct ox_conv *c);
void ox_conv_abreast_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                          enum ox_weight_type type, float *out);

bool ox_conv_joined_fits(const struct ox_compute *t, const struct ox_conv *c);
/* Whether it pays that neighbouring pixels are columns too: the others' taps are zeros for each. */
bool ox_conv_joined_abreast_fits(const struct ox_compute *t, const struct ox_conv *c);
/* Cycles for each pixel of the input, as ox_abreast_cost() counts. */
double ox_conv_joined_cost(const struct ox_compute *t, const struct ox_conv *c, bool abreast);
size_t ox_conv_joined_packed(const struct ox_compute *t, const struct ox_conv *c, bool abreast);
void ox_conv_joined_pack(const struct ox_compute *t, const struct ox_conv *c, bool abreast,
                         const void *weights, enum ox_weight_type type, float *out);
size_t ox_conv_joined_work(const struct ox_compute *t, const struct ox_env *env,
                           const struct ox_conv *c, bool abreast);
void ox_conv_joined(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    bool abreast, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work);

enum { OX_CONV_DEPTHWISE_ROWS = 64 }; /* of a kernel, at most */
void ox_conv_depthwise_pack(const struct ox_compute *t, const struct ox_conv *c,
                            const void *weights, enum ox_weight_type type, float *out);
size_t ox_conv_depthwise_work(const struct ox_conv *c, const struct ox_env *env);
void ox_conv_depthwise(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                       const float *packed, const float *in, float *out,
                       const struct ox_epilogue *end, float *work);
/* Of groups of some channels, as many in as out, that are packed for it, ox_conv_depthwise() is for too. */
bool ox_conv_turned_fits(const struct ox_compute *t, const struct ox_conv *c);
void ox_conv_turned_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out);
/* The same by a kernel of one column, which ox_conv_depthwise() leaves to it. */
bool ox_conv_upright_fits(const struct ox_conv *c);
size_t ox_conv_upright_work(const struct ox_conv *c, const struct ox_env *env);
void ox_conv_upright(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                     const float *packed, const float *in, float *out,
                     const struct ox_epilogue *end, float *work);

/* convolve_lines.c */
/* Lets the kernel do what it can of an epilogue (of channels from `first` on): sets its bias and bounds. Whether nothing is left. */
bool ox_conv_depthwise_begin(struct ox_depthwise *d, const struct ox_epilogue *end, size_t first);
/* What is left, of n pixels at `out`, the first of which is row `row` of the epilogue; they lie as d says. */
void ox_conv_depthwise_end(const struct ox_compute *t, const struct ox_depthwise *d,
                           const struct ox_epilogue *end, size_t row, size_t first, size_t n,
                           float *out);
/* n pixels of `channels` floats, at steps of their own on either side. */
void ox_conv_copy_pixels(size_t n, size_t channels, const float *from, size_t from_pixel, float *to,
                         size_t to_pixel);
/* n pixels side by side, behind `before` of zeros and before as many as make `framed`, which may be fewer than there are. */
void ox_conv_frame_pixels(size_t framed, size_t before, size_t n, size_t channels,
                          const float *from, size_t from_pixel, float *to);

bool ox_conv_spread_fits(const struct ox_conv *c);
void ox_conv_spread_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out);
size_t ox_conv_spread_work(const struct ox_conv *c, const struct ox_env *env);
void ox_conv_spread(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const float *packed, const float *in, float *out, const struct ox_epilogue *end,
                    float *work);

/* Whether that is quicker than what takes `other` cycles for each pixel of the input. */
bool ox_conv_columns_fits(const struct ox_compute *t, const struct ox_conv *c, double other);
size_t ox_conv_columns_packed(const struct ox_compute *t, const struct ox_conv *c);
void ox_conv_columns_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                          const void *weights, enum ox_weight_type type, float *out);
size_t ox_conv_columns_work(const struct ox_conv *c);
void ox_conv_columns(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                     const float *packed, const float *in, float *out,
                     const struct ox_epilogue *end, float *work);

/* tile: 2 or 4; kernels of so many taps at most. */
enum { OX_CONV_WINOGRAD_TAPS_MOST = 121 };
size_t ox_conv_winograd_packed(const struct ox_compute *t, const struct ox_conv *c, unsigned tile);
void ox_conv_winograd_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           unsigned tile, const void *weights, enum ox_weight_type type,
                           float *out);
size_t ox_conv_winograd_work(const struct ox_compute *t, const struct ox_env *env,
                             const struct ox_conv *c, unsigned tile);
void ox_conv_winograd(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                      unsigned tile, const float *packed, const float *in, float *out,
                      const struct ox_epilogue *end, float *work);
/* The same of weights that are transformed as they are used: so many channels at a time, for at most so many tiles. Packed they take
 * ox_conv_indirect_packed() floats. */
enum { OX_CONV_LATE_DEPTH = 128, OX_CONV_LATE_TILES = 128 };
void ox_conv_winograd_late_pack(const struct ox_compute *t, struct ox_env *env,
                                const struct ox_conv *c, const void *weights,
                                enum ox_weight_type type, float *out);
/* Whether every panel of weights goes past all tiles at once, so that none is packed twice. */
bool ox_conv_winograd_late_reads_stored(const struct ox_compute *t, const struct ox_conv *c,
                                        unsigned tile);
/* Tiles that a panel of weights goes past when it is transformed, at most: few where more would take much memory. */
size_t ox_conv_winograd_late_portion(const struct ox_compute *t, const struct ox_conv *c,
                                     unsigned tile);
size_t ox_conv_winograd_late_work(const struct ox_compute *t, const struct ox_env *env,
                                  const struct ox_conv *c, unsigned tile);
void ox_conv_winograd_late(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           unsigned tile, const float *packed, const float *in, float *out,
                           const struct ox_epilogue *end, float *work);

/* One weight of any type. */
float ox_conv_weight(const struct ox_compute *t, const void *weights, enum ox_weight_type type,
                     size_t i);

/* Output channels [first, first + n) of a kernel that is not transposed are packed: where it is large and lies in a mapped file its
 * pages are given back at once, so that not all of it is in memory twice. */
void ox_conv_give_back(const struct ox_conv *c, const void *weights, enum ox_weight_type type,
                       size_t first, size_t n);

#endif
