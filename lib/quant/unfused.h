/* Q/DQ pairs that cost time and bring none. */
#ifndef OX_QUANT_UNFUSED_H
#define OX_QUANT_UNFUSED_H

#include "quant/quant.h"

/* Adds to the report every value between QuantizeLinear and DequantizeLinear with a node that onnxruntime 1.31 runs in float on it. */
/* Whether onnxruntime 1.31 can run the operator on integers. */
bool ox_quant_has_integers(const struct ox_node *node);
enum ox_status ox_quant_find_unfused(struct ox_quant *q, struct ox_error *err);

#endif
