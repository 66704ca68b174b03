#ifndef OX_QUANT_GATHERED_H
#define OX_QUANT_GATHERED_H

#include "quant/quant.h"

/* Constant matrices of which Gather takes rows, and nobody else anything, become int8 with a scale for each block along a row; needs
 * opset 21. */
enum ox_status ox_quant_shrink_tables(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err);

#endif
