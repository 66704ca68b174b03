#include "tensor/half.h"

#include <math.h>
#include <string.h>

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The magnitude's code in a format with `mantissa` bits and this bias, rounded once to nearest even, subnormals and all, as
 * if its exponent had no upper end. `rest` are the bits of a finite double without its sign. */
static uint64_t round_magnitude(uint64_t rest, int mantissa, int bias)
{
    int exponent = (int)(rest >> 52) - 1023 + bias;
    if (rest >> 52 == 0)
        return 0; /* a subnormal double is below half of any format's least */
    uint64_t significand = (rest & 0xFFFFFFFFFFFFF) | (uint64_t)1 << 52;
    int shift = 52 - mantissa;
    uint64_t base = 0;
    if (exponent >= 1)
        base = (uint64_t)(exponent - 1) << mantissa;
    else
        shift += 1 - exponent;
    if (shift > 53)
        return 0;
    uint64_t code = significand >> shift;
    uint64_t left = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    return base + code + (left > half || (left == half && (code & 1)));
}

static uint16_t double_to_16(double value, int mantissa, int bias, uint16_t infinity)
{
    uint64_t bits = double_bits(value);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    uint64_t rest = bits & INT64_MAX;
    if (rest > 0x7FF0000000000000u) /* NaN keeps what fits of its payload, and is quiet */
        return (uint16_t)(sign | infinity | 1u << (mantissa - 1) |
                          (rest >> (52 - mantissa) & ((1u << mantissa) - 1)));
    uint64_t code = round_magnitude(rest, mantissa, bias);
    return (uint16_t)(sign | (code < infinity ? code : infinity));
}

uint16_t ox_double_to_half(double value)
{
    return double_to_16(value, 10, 15, 0x7C00);
}

uint16_t ox_double_to_bfloat(double value)
{
    return double_to_16(value, 7, 127, 0x7F80);
}

/* "Float stored in 8 bits", "Float stored in 6 bits" and "Float stored in 4 bits" of the ONNX documentation. Codes are
 * without the sign. */
struct small_format {
    uint8_t mantissa;
    uint8_t bias;
    uint8_t sign; /* its bit */
    uint8_t max;  /* largest finite */
    uint8_t
        overflow; /* what is larger, when not saturated: infinity or NaN; max where there is neither */
    uint8_t nan;        /* 0: none */
    bool unsigned_zero; /* the code of -0 is NaN, the only one */
};

static const struct small_format small_formats[OX_N_DTYPES] = {
    [OX_FLOAT8E4M3FN] = {3, 7, 0x80, 0x7E, 0x7F, 0x7F, false},
    [OX_FLOAT8E4M3FNUZ] = {3, 8, 0x80, 0x7F, 0x80, 0x80, true},
    [OX_FLOAT8E5M2] = {2, 15, 0x80, 0x7B, 0x7C, 0x7E, false},
    [OX_FLOAT8E5M2FNUZ] = {2, 16, 0x80, 0x7F, 0x80, 0x80, true},
    [OX_FLOAT4E2M1] = {1, 1, 0x08, 0x07, 0x07, 0, false},
    [OX_FLOAT6E2M3] = {3, 1, 0x20, 0x1F, 0x1F, 0, false},
    [OX_FLOAT6E3M2] = {2, 3, 0x20, 0x1F, 0x1F, 0, false},
};

float ox_small_to_float(enum ox_dtype dtype, uint8_t code)
{
    if (dtype == OX_FLOAT8E8M0)
        return code == 0xFF ? NAN : code == 0 ? 0x1p-127f : ox_bits_float((uint32_t)code << 23);
    const struct small_format *format = &small_formats[dtype];
    uint8_t rest = code & (uint8_t)(format->sign - 1);
    bool negative = code & format->sign;
    if (format->unsigned_zero && negative && rest == 0)
        return NAN;
    if (rest > format->max) {
        float special = dtype == OX_FLOAT8E5M2 && rest == 0x7C ? INFINITY : NAN;
        return negative ? -special : special;
    }
    int exponent = rest >> format->mantissa;
    int fraction = rest & ((1 << format->mantissa) - 1);
    if (exponent > 0)
        fraction += 1 << format->mantissa;
    else
        exponent = 1;
    float magnitude = ldexpf((float)fraction, exponent - format->bias - format->mantissa);
    return negative ? -magnitude : magnitude;
}

uint8_t ox_double_to_small(enum ox_dtype dtype, double value, bool saturate)
{
    if (dtype == OX_FLOAT8E8M0)
        return ox_double_to_e8m0(value, OX_E8M0_UP, saturate);
    const struct small_format *format = &small_formats[dtype];
    uint64_t bits = double_bits(value);
    uint8_t sign = bits >> 63 ? format->sign : 0;
    uint64_t rest = bits & INT64_MAX;
    if (rest > 0x7FF0000000000000u) {
        if (format->nan == 0)
            return sign ^ format->sign;
        return format->unsigned_zero ? format->nan : sign | format->nan;
    }
    bool infinite = rest == 0x7FF0000000000000u;
    uint64_t code = infinite ? UINT64_MAX : round_magnitude(rest, format->mantissa, format->bias);
    if (code > format->max) {
        uint8_t end = saturate ? format->max : format->overflow;
        return end == 0x80 ? end : sign | end;
    }
    return code == 0 && format->unsigned_zero ? 0 : sign | (uint8_t)code;
}

uint8_t ox_float_to_small(enum ox_dtype dtype, float value, bool saturate)
{
    return ox_double_to_small(dtype, (double)value, saturate);
}

uint8_t ox_double_to_e8m0(double value, enum ox_e8m0_round mode, bool saturate)
{
    uint64_t rest = double_bits(value) & INT64_MAX;
    if (rest > 0x7FF0000000000000u)
        return 0xFF;
    int code = (int)(rest >> 52) - 1023 + 127;
    uint64_t fraction = rest & 0xFFFFFFFFFFFFF;
    if ((mode == OX_E8M0_UP && fraction > 0) || (mode == OX_E8M0_NEAREST && fraction >> 51))
        code++;
    if (code < 0 || (rest >> 52) == 0)
        return saturate ? 0 : 0xFF;
    if (code > 0xFE)
        return saturate ? 0xFE : 0xFF;
    return (uint8_t)code;
}

uint8_t ox_float_to_e8m0(float value, enum ox_e8m0_round mode, bool saturate)
{
    return ox_double_to_e8m0((double)value, mode, saturate);
}
