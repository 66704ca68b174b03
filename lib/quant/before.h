/* What goes into operators that integers before them would spoil. */
#ifndef OX_QUANT_BEFORE_H
#define OX_QUANT_BEFORE_H

#include "quant/quant.h"

/* By value id; NULL: nothing does, or it was not looked for. */
struct ox_quant_before {
    const uint8_t *cubic;   /* what a cubic Resize is made of, back to products and convolutions */
    const uint8_t *log;     /* spectra, and what they are made of, before the logarithm is taken */
    const uint8_t *modulus; /* what sqrt(a^2 + b^2) is made of, back to products and convolutions */
    const uint8_t *comparison; /* what nothing but comparisons reads, but for what is added to it */
    const uint8_t *body;       /* what movers carry into a body: before_body.c */
};

enum { OX_BEFORE_CUBIC = 1, OX_BEFORE_LOG = 2, OX_BEFORE_MODULUS = 4 };

/* `captured` is of ox_quant_find_captured(). Nodes are in order. Comparisons and bodies are looked for in any case. */
enum ox_status ox_quant_find_before(struct ox_quant *q, const struct ox_graph *graph,
                                    const bool *captured, int also, struct ox_quant_before *before,
                                    struct ox_error *err);
enum ox_status ox_quant_before_body(struct ox_quant *q, const struct ox_graph *graph,
                                    const bool *captured, const uint8_t **body,
                                    struct ox_error *err);

static inline bool ox_quant_is_before(const uint8_t *before, const struct ox_value *value)
{
    return before && value && before[value->id];
}

/* Why integers before its output would spoil what follows a node that computes; NULL. */
const char *ox_quant_before_reason(const struct ox_quant_before *before,
                                   const struct ox_node *node);
/* Why rows that Gather takes of such a table cannot become float behind it; NULL. */
const char *ox_quant_rows_reason(const struct ox_quant_before *before, const struct ox_graph *graph,
                                 const struct ox_node *gather);

#endif
