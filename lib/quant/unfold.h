/* Constants that are written as the nodes that make them. */
#ifndef OX_QUANT_UNFOLD_H
#define OX_QUANT_UNFOLD_H

#include "quant/quant.h"

/* Writes down, in the model, what nodes make of constants in its main graph, for after they were folded. */
enum ox_status ox_quant_keep_origins(struct ox_quant *q, struct ox_error *err);
/* Constants of that graph that are as folding left them, and twice the bytes of what they were made of, become nodes again. */
enum ox_status ox_quant_unfold(struct ox_quant *q, struct ox_error *err);

#endif
