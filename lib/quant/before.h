/* What goes into operators that integers before them would spoil. */
#ifndef OX_QUANT_BEFORE_H
#define OX_QUANT_BEFORE_H

#include "quant/quant.h"

/* Each sets *before, by value id; NULL: nothing does. Nodes are in order. */

/* What a cubic Resize is made of, back to products and convolutions. */
enum ox_status ox_quant_before_cubic(struct ox_quant *q, const struct ox_graph *graph,
                                     const uint8_t **before, struct ox_error *err);
/* Spectra, and what they are made of, before the logarithm is taken. */
enum ox_status ox_quant_before_log(struct ox_quant *q, const struct ox_graph *graph,
                                   const uint8_t **before, struct ox_error *err);

/* What nothing but comparisons reads, but for what is added to it. */
enum ox_status ox_quant_before_comparison(struct ox_quant *q, const struct ox_graph *graph,
                                          const uint8_t **before, struct ox_error *err);

/* What movers carry into a body: before_body.c. */
enum ox_status ox_quant_before_body(struct ox_quant *q, const struct ox_graph *graph, bool **before,
                                    struct ox_error *err);

static inline bool ox_quant_is_before(const uint8_t *before, const struct ox_value *value)
{
    return before && value && before[value->id];
}

#endif
