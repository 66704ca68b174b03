/* Floats of 8 bits ("Float stored in 8 bits" of the ONNX documentation) from float32: rounded to even, what is too large to the
 * largest. */
#ifndef OX_KERNELS_FLOAT8_H
#define OX_KERNELS_FLOAT8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/inline.h"

/* mantissa: its bits; max: the code of the largest number; lone_nan: the code of -0 is NaN, the only one. */
INLINE uint8_t ox_float8_narrow(float x, const unsigned mantissa, const unsigned bias,
                                const uint32_t max, const uint32_t nan, const bool lone_nan)
{
    uint32_t bits, sum;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t rest = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
    const unsigned lost = 23 - mantissa;
    const uint32_t rounded = rest + ((1u << (lost - 1)) - 1) + (rest >> lost & 1);
    const uint32_t normal = (rounded >> lost) - ((127 - bias) << mantissa);
    /* Beside a number whose last bit is the least subnormal's the addition rounds as is wanted. */
    const uint32_t large_bits = (127 + 24 - bias - mantissa) << 23;
    float size, large;
    memcpy(&size, &rest, sizeof size);
    memcpy(&large, &large_bits, sizeof large);
    size += large;
    memcpy(&sum, &size, sizeof sum);
    uint32_t code = rest < (128 - bias) << 23 ? sum - large_bits : normal;
    code = code > max ? max : code;
    code = lone_nan && code == 0 ? 0 : sign | code;
    const uint32_t none = lone_nan ? nan : sign | nan;
    return (uint8_t)(rest > 0x7f800000 ? none : code);
}

INLINE uint8_t ox_e4m3fn_narrow(float x)
{
    return ox_float8_narrow(x, 3, 7, 0x7e, 0x7f, false);
}

INLINE uint8_t ox_e4m3fnuz_narrow(float x)
{
    return ox_float8_narrow(x, 3, 8, 0x7f, 0x80, true);
}

INLINE uint8_t ox_e5m2_narrow(float x)
{
    return ox_float8_narrow(x, 2, 15, 0x7b, 0x7e, false);
}

INLINE uint8_t ox_e5m2fnuz_narrow(float x)
{
    return ox_float8_narrow(x, 2, 16, 0x7f, 0x80, true);
}

#endif
