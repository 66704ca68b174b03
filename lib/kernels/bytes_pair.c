/* Two codes made one: what tables and vectors must equal. */
#include <math.h>

#include "kernels/bytes.h"

static uint8_t code_of(double value, const struct ox_bytes_pair *pair)
{
    const double q = rint(value) + pair->zero;
    return (uint8_t)(int32_t)(q > pair->lo ? q < pair->hi ? q : pair->hi : pair->lo);
}

uint8_t ox_bytes_add_one(uint8_t a, uint8_t b, const struct ox_bytes_pair *pair)
{
    return code_of(pair->a[a] + pair->b[b], pair);
}

uint8_t ox_bytes_multiply_one(uint8_t a, uint8_t b, const struct ox_bytes_pair *pair)
{
    return code_of(pair->a[a] * pair->b[b], pair);
}
