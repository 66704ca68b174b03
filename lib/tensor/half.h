/* The narrow floating types: their codes to float and back. */
#ifndef OX_TENSOR_HALF_H
#define OX_TENSOR_HALF_H

#include <string.h>

#include "common/error.h"

/* The four that whole tensors go through are here, without branches, so that loops over them become vectors. */

static inline uint32_t ox_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ox_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float ox_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = half & 0x7FFF;
    uint32_t normal = (rest << 13) + ((127 - 15) << 23);
    uint32_t special = 0x7F800000 | rest << 13;
    uint32_t subnormal = ox_float_bits((float)rest * 0x1p-24f);
    uint32_t bits = rest >= 0x7C00 ? special : rest >= 0x0400 ? normal : subnormal;
    return ox_bits_float(sign | bits);
}

/* Nearest, ties to even; overflow to infinity. */
static inline uint16_t ox_float_to_half(float value)
{
    uint32_t bits = ox_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7FFFFFFF;
    /* Adding 0.5 moves the bits of a subnormal half to the end of the float, and the addition rounds them. */
    uint32_t subnormal = ox_float_bits(ox_bits_float(rest) + 0.5f) - 0x3F000000;
    uint32_t normal = (rest - ((127 - 15) << 23) + 0xFFF + (rest >> 13 & 1)) >> 13;
    uint32_t nan = 0x7E00 | (rest >> 13 & 0x3FF);
    uint32_t half = rest < 0x38800000 ? subnormal : normal;
    half = rest >= 0x47800000 ? 0x7C00 : half;
    half = rest > 0x7F800000 ? nan : half;
    return (uint16_t)(sign | half);
}

static inline float ox_bfloat_to_float(uint16_t bfloat)
{
    return ox_bits_float((uint32_t)bfloat << 16);
}

static inline uint16_t ox_float_to_bfloat(float value)
{
    uint32_t bits = ox_float_bits(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x0040;
    return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
}

/* Rounded once. */
uint16_t ox_double_to_half(double value);
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
