/* Quantized values in graphs: what the passes over QuantizeLinear and DequantizeLinear share. */
#ifndef OX_GRAPH_CODES_H
#define OX_GRAPH_CODES_H

#include "graph/match.h"

/* 8-bit codes and what they stand for. */
struct ox_codes {
    struct ox_value *codes, *scale, *zero; /* zero NULL: 0 */
    enum ox_dtype dtype;                   /* uint8 or int8 */
    double scale_is;                       /* of one scale for all */
    int zero_is;
    bool
        one; /* one scale and zero point for all; else one for each along `axis` of codes, and zero_is says nothing */
    int axis;
};

/* What a value that a DequantizeLinear makes stands for; false: it is none of float32 from 8 bits by constant parameters. */
bool ox_codes_of(struct ox_rewrite *rw, const struct ox_value *value, struct ox_codes *out);
/* Likewise with one scale. */
bool ox_codes_of_one(struct ox_rewrite *rw, const struct ox_value *value, struct ox_codes *out);
/* What a QuantizeLinear node makes (codes: its output); false: likewise, or of several scales. */
bool ox_codes_made(struct ox_rewrite *rw, const struct ox_node *node, struct ox_codes *out);
/* The only user of the value if it is such a QuantizeLinear; NULL. */
struct ox_node *ox_codes_taken(struct ox_rewrite *rw, const struct ox_value *value,
                               struct ox_codes *out);
bool ox_codes_are_alike(const struct ox_codes *a, const struct ox_codes *b);
/* The code of a number. */
int ox_codes_round(const struct ox_codes *codes, double x);
bool ox_is_dequantize(const struct ox_node *node);
bool ox_is_quantize(const struct ox_node *node);
/* The type of `like` with other elements; NULL: not known. */
const struct ox_type *ox_codes_type(struct ox_rewrite *rw, const struct ox_value *like,
                                    enum ox_dtype dtype);

#endif
