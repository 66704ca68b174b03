/* bfloat16: the upper half of a float32. */
#ifndef OX_KERNELS_BFLOAT_H
#define OX_KERNELS_BFLOAT_H

#include <stdint.h>
#include <string.h>

/* Rounded to even; NaN stays one. */
static inline uint16_t ox_bfloat_narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline float ox_bfloat_widen(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

#endif
