/* Sums of uint8 by int8 as x86 processors without VNNI make them. vpmaddubsw adds the products of two neighbours of a sum in 16
 * bits, which saturate (Intel SDM, PMADDUBSW): with activations of 255 what two weights of one sign add up to must be 128 at most.
 * Which are neighbours, and which operators are exact, is what onnxruntime 1.31 was seen to do on a processor with AVX2 alone, by
 * weights of two terms of 127 each, every pair of terms an output of its own. */
#ifndef OX_QUANT_SATURATION_H
#define OX_QUANT_SATURATION_H

#include "quant/quant.h"

/* How weights lie in the sums that an operator makes of them. Terms 2i and 2i + 1 of a sum are a pair; a term left over is exact. */
struct ox_saturation {
    size_t n_outputs, n_terms; /* sums, and weights in each */
    size_t columns;            /* sums whose weights lie side by side; 1: all weights of a sum do */
    size_t
        channels; /* terms that are added before those of the next tap of a kernel; n_terms: there are no taps */
    unsigned largest; /* activation, as uint8 */
    const uint8_t *
        most; /* the largest activation of each channel, of all groups; NULL: all may be `largest` */
    const uint16_t *
        both; /* the largest sum of a channel's and the next one's in one place; NULL: of both largest */
    size_t n_most;
};

/* Of MatMul, Gemm or Conv by the constant at input 1, whose dimensions these are. Terms of products go along K. Those of
 * convolutions go through the channels of a group, tap by tap, and with an odd number of channels a pair lies in two taps. false:
 * the operator is another one, or exact: a convolution with one channel in and one out a group. */
bool ox_saturation_of(struct ox_saturation *out, const struct ox_node *node, unsigned rank,
                      const int64_t *dims);
/* Of a product by [..., terms, outputs], or by [terms]. */
struct ox_saturation ox_saturation_of_columns(unsigned rank, const int64_t *dims);
/* Of a product by [outputs, terms]. */
struct ox_saturation ox_saturation_of_rows(size_t n_outputs, size_t n_terms);

/* The largest uint8 that values are likely to be, with others at once, by what makes them: 255, or less where that spreads them around
 * a middle, of which a range's ends are outliers. */
unsigned ox_saturation_likely(const struct ox_value *value);

/* Whether some activations, be they up to 255, make a pair of these weights saturate in one of n sums. */
bool ox_saturation_can(const struct ox_saturation *sums, size_t n_sums, const int8_t *weights);

/* Whether options ask for weights whose sums do not saturate. */
bool ox_saturation_avoided(const struct ox_quant_options *options);
/* Makes scales of int8 weights larger where pairs of `values` (float32), rounded to the nearest, could saturate in any of the sums by
 * activations as large as these say: each becomes the least by which none can, or up to 1.4 % more where that rounds better.
 * params->pairs become other ones of the arena's; *factor is the largest by which one grew. */
enum ox_status ox_saturation_widen(const struct ox_saturation *sums, size_t n_sums,
                                   const struct ox_tensor *values, struct ox_qparams *params,
                                   struct ox_arena *arena, double *factor, struct ox_error *err);
/* By such scales no pair saturates, once those that do because they were rounded otherwise are rounded to the nearest. */
void ox_saturation_settle(const struct ox_saturation *sums, size_t n_sums,
                          const struct ox_tensor *values, const struct ox_qparams *params,
                          struct ox_tensor *weights);

/* The note of the report on all weights that can, and on those that would. */
void ox_saturation_note(struct ox_quant *q);

#endif
