#include <math.h>

#include "common/number.h"
#include "tensor/half.h"
#include "tensor/io/tensor_file.h"

/* The largest magnitudes an integer type holds; bool counts as one of one bit. */
static bool in_range(enum ox_dtype dtype, bool negative, uint64_t magnitude)
{
    unsigned bits = dtype == OX_BOOL ? 1 : ox_dtype_bits(dtype);
    if (!ox_dtype_is_signed(dtype))
        return (!negative || magnitude == 0) && (bits == 64 || magnitude >> bits == 0);
    return magnitude <= ((uint64_t)1 << (bits - 1)) - !negative;
}

static bool parse_whole(enum ox_dtype dtype, void *to, const char *text, size_t n)
{
    int64_t whole;
    uint64_t natural;
    double real;
    if (ox_number_parse_int(text, n, &whole)) {
        bool negative = whole < 0;
        if (!in_range(dtype, negative, negative ? 0 - (uint64_t)whole : (uint64_t)whole))
            return false;
        ox_elements_convert(dtype, to, OX_INT64, &whole, 1, true);
    } else if (ox_number_parse_uint(text, n, &natural)) {
        if (!in_range(dtype, false, natural))
            return false;
        ox_elements_convert(dtype, to, OX_UINT64, &natural, 1, true);
    } else if (ox_number_parse(text, n, &real) && real == trunc(real) && fabs(real) < 0x1p63) {
        if (!in_range(dtype, real < 0, (uint64_t)fabs(real)))
            return false;
        whole = (int64_t)real;
        ox_elements_convert(dtype, to, OX_INT64, &whole, 1, true);
    } else {
        return false;
    }
    return true;
}

bool ox_element_parse(enum ox_dtype dtype, void *to, const char *text, size_t n)
{
    if (dtype == OX_BOOL || ox_dtype_is_integer(dtype))
        return parse_whole(dtype, to, text, n);
    /* A float32 is rounded once, from the digits. */
    if (dtype == OX_FLOAT32)
        return ox_number_parse_float(text, n, to);
    double real;
    if (!ox_number_parse(text, n, &real))
        return false;
    if (dtype ==
        OX_FLOAT8E8M0) /* Cast's rounding up would double a power of two that is written with few digits */
        *(uint8_t *)to = ox_double_to_e8m0(real, OX_E8M0_NEAREST, false);
    else
        ox_elements_convert(dtype, to, OX_FLOAT64, &real, 1, false);
    return true;
}
