/* Quantized tensors as exact doubles, and back by the rule of QuantizeLinear. */
#ifndef OX_OPS_QUANTIZED_H
#define OX_OPS_QUANTIZED_H

#include "ops/op.h"

/* A zero point or scale: one value for all, or one a row or column. */
struct ox_quant_param {
    const struct ox_tensor *tensor; /* NULL: the default */
    size_t period, inner;           /* element i of the data takes i / inner % period of it */
};

/* data[i] - zero_point: small integers (or 8-bit floats) whose products and sums are exact in double. NULL: *err is set. */
double *ox_quant_load(struct ox_run *r, const struct ox_tensor *tensor,
                      const struct ox_quant_param *zero, struct ox_error *err);
/* How a parameter of n elements applies to data of `rank`, along its axis `axis`; its size is 1, dims[axis], or the product of all dims
 * but the one that is summed over. OX_INPUT naming `what` when it fits none. */
enum ox_status ox_quant_param_init(struct ox_run *r, const char *what,
                                   const struct ox_tensor *param, const struct ox_tensor *data,
                                   unsigned axis, struct ox_quant_param *out, struct ox_error *err);
double ox_quant_param_get(const struct ox_quant_param *param, size_t i, double fallback);
/* Stores round(value) + zero as element i of an (u)int8 tensor, saturated, or value + zero as an 8-bit float. */
void ox_quant_store(struct ox_tensor *tensor, size_t i, double value, double zero);
/* a * b / y, rounded as the scales' own type does it (float32, or double in oracle mode). */
double ox_quant_factor(enum ox_dtype scales, double a, double b, double y);

#endif
