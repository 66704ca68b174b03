/* Rounding that lets the errors of one output's weights cancel. */
#ifndef OX_QUANT_CANCEL_H
#define OX_QUANT_CANCEL_H

#include "model/model.h"
#include "quant/qparams.h"

/* The axis of a constant weight (input 1 of the node) along which outputs lie; -1: none that cancelling serves. */
int ox_cancel_axis(const struct ox_node *node, unsigned rank);

/* As ox_quantize_tensor(), but of the weights of each output, and of each kernel of a convolution, some that were nearly halfway
 * are rounded the other way, so that the errors add up to half a step at most. What is rounded is still next to its value.
 * outputs: the axis, 0 or 1 of a matrix. Types of 16 bits, and scales along another axis, are rounded as ever. */
enum ox_status ox_quantize_cancelling(struct ox_tensor **out, struct ox_budget *budget,
                                      const struct ox_tensor *tensor,
                                      const struct ox_qparams *params, int outputs,
                                      struct ox_error *err);

#endif
