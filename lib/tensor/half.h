/* The narrow floating types: their codes to float and back. */
#ifndef OX_TENSOR_HALF_H
#define OX_TENSOR_HALF_H

#include "common/error.h"

float ox_half_to_float(uint16_t half);
uint16_t ox_float_to_half(float value);   /* nearest, ties to even; overflow to infinity */
uint16_t ox_double_to_half(double value); /* rounded once */
float ox_bfloat_to_float(uint16_t bfloat);
uint16_t ox_float_to_bfloat(float value);
uint16_t ox_double_to_bfloat(double value);

/* Any of the float8, float6, float4 types; the code is in the low bits. */
float ox_small_to_float(enum ox_dtype dtype, uint8_t code);
/* Rounded to nearest even. saturate: what is too large becomes the largest finite value, else infinity or NaN as the type has
 * it (ONNX, "Float stored in 8 bits"). The 4- and 6-bit types have neither: they always saturate, and NaN becomes -0 (-NaN
 * 0), as in ml_dtypes. float8e8m0: ox_float_to_e8m0() with OX_E8M0_UP. */
uint8_t ox_float_to_small(enum ox_dtype dtype, float value, bool saturate);
uint8_t ox_double_to_small(enum ox_dtype dtype, double value, bool saturate); /* rounded once */

enum ox_e8m0_round { OX_E8M0_UP, OX_E8M0_DOWN, OX_E8M0_NEAREST };
/* By magnitude: the sign is dropped. NEAREST: ties away from zero. What is below 2^-127 (also 0) or, rounded, above
 * 2^127 becomes that with saturate, NaN (0xFF) without. */
uint8_t ox_float_to_e8m0(float value, enum ox_e8m0_round mode, bool saturate);
uint8_t ox_double_to_e8m0(double value, enum ox_e8m0_round mode, bool saturate);

#endif
