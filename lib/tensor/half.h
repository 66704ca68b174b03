/* The narrow floating types: their codes to float and back. */
#ifndef OX_TENSOR_HALF_H
#define OX_TENSOR_HALF_H

#include "common/error.h"

float ox_half_to_float(uint16_t half);
uint16_t ox_float_to_half(float value); /* nearest, ties to even; overflow to infinity */
uint16_t ox_double_to_half(double value); /* rounded once */
float ox_bfloat_to_float(uint16_t bfloat);
uint16_t ox_float_to_bfloat(float value);
uint16_t ox_double_to_bfloat(double value);

/* Any of the float8, float6, float4 types; the code is in the low bits. */
float ox_small_to_float(enum ox_dtype dtype, uint8_t code);
/* Rounded to nearest even. saturate: what is too large becomes the largest finite value, else infinity or NaN as the type has
 * it (ONNX, "Float stored in 8 bits"). float8e8m0 rounds by its own rule, see ox_float_to_e8m0(). */
uint8_t ox_float_to_small(enum ox_dtype dtype, float value, bool saturate);

enum ox_e8m0_round { OX_E8M0_UP, OX_E8M0_DOWN, OX_E8M0_NEAREST };
uint8_t ox_float_to_e8m0(float value, enum ox_e8m0_round mode, bool saturate);

#endif
