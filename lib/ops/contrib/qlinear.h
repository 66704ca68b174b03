/* 8-bit tensors with one scale and zero point each, for the QLinear operators of com.microsoft. */
#ifndef OX_OPS_QLINEAR_H
#define OX_OPS_QLINEAR_H

#include "ops/contrib/contrib.h"
#include "ops/op.h"

struct ox_infer;

struct ox_qparam {
    double scale, zero;
};

/* Inputs i_scale and i_zero (which may be omitted, 0), one element each; OX_INPUT naming them. */
enum ox_status ox_qparam_in(struct ox_run *r, size_t i_scale, size_t i_zero,
                            struct ox_qparam *param, struct ox_error *err);
/* What each of the 256 codes of an 8-bit type stands for, by its bits. */
void ox_qtable(enum ox_dtype dtype, const struct ox_qparam *param, double table[256]);
/* The code of a value: rounded half to even, saturated. */
uint8_t ox_qcode(enum ox_dtype dtype, const struct ox_qparam *param, double value);
/* codes[c] stands in the target's type and parameters for what table[c] is. */
void ox_qrecode(const double table[256], enum ox_dtype dtype, const struct ox_qparam *param,
                uint8_t codes[256]);
/* The tensor's values as float64, new; the caller releases it. */
enum ox_status ox_dequantized(struct ox_run *r, const struct ox_tensor *x,
                              const struct ox_qparam *param, struct ox_tensor **out,
                              struct ox_error *err);
/* Output 0 of that type: the float64 tensor's values as codes. */
enum ox_status ox_quantized_out(struct ox_run *r, const struct ox_tensor *values,
                                enum ox_dtype dtype, const struct ox_qparam *param,
                                struct ox_error *err);
/* Codes of f(x) in the parameters of inputs 3 and 4, by codes of input 0 (of inputs 1 and 2). */
enum ox_status ox_qlinear_function(struct ox_run *r, enum ox_fused kind, double alpha,
                                   uint8_t codes[256], struct ox_error *err);
/* Codes of input i (its scale and zero point behind it) in the target's. The same parameters keep every code. */
enum ox_status ox_qlinear_recode(struct ox_run *r, size_t i, const struct ox_qparam *to,
                                 enum ox_dtype dtype, uint8_t codes[256], struct ox_error *err);
/* QLinearConcat's output, whose parameters are *to; inputs are 2, 5, 8, ... */
enum ox_status ox_qlinear_concat_out(struct ox_run *r, struct ox_qparam *to, unsigned *axis,
                                     struct ox_tensor **out, struct ox_error *err);
/* Rule of QLinearAdd and QLinearMul: output 0 has input 0's type and the shape of inputs 0 and 3 broadcast. */
void ox_infer_qlinear_pair(struct ox_infer *c);
/* OX_UNSUPPORTED unless it is uint8 or int8. */
enum ox_status ox_q8_only(const struct ox_run *r, const struct ox_tensor *x, struct ox_error *err);

#endif
