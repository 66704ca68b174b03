#include "quant/exact_sum.h"

#include <math.h>
#include <stddef.h>

enum { LOWEST = -160 }; /* exponent of digit 0's unit: below 2^-149, the least float */

void ox_exact_settle(struct ox_exact_sum *sum)
{
    int64_t carry = 0;
    for (size_t i = 0; i < OX_EXACT_DIGITS; i++) {
        int64_t digit = sum->digits[i] + carry;
        /* Division that rounds down, whatever the sign. */
        carry = digit >= 0 ? digit >> 32 : -((-digit + 0xffffffff) >> 32);
        sum->digits[i] = i + 1 < OX_EXACT_DIGITS ? digit - carry * ((int64_t)1 << 32) : digit;
    }
    sum->n_loose = 0;
}

void ox_exact_add(struct ox_exact_sum *sum, float value)
{
    int exponent;
    double fraction = frexp((double)value, &exponent); /* value = mantissa * 2^(exponent - 24) */
    int64_t mantissa = (int64_t)ldexp(fraction, 24);
    int at = exponent - 24 - LOWEST;
    int64_t low = mantissa * ((int64_t)1 << (at % 32)); /* within 2^55 */
    int64_t high = low >= 0 ? low >> 32 : -((-low) >> 32);
    sum->digits[at / 32] += low - high * ((int64_t)1 << 32);
    sum->digits[at / 32 + 1] += high;
    if (++sum->n_loose == UINT32_C(1) << 28)
        ox_exact_settle(sum);
}

void ox_exact_merge(struct ox_exact_sum *into, const struct ox_exact_sum *from)
{
    struct ox_exact_sum other = *from;
    ox_exact_settle(&other);
    ox_exact_settle(into);
    for (size_t i = 0; i < OX_EXACT_DIGITS; i++)
        into->digits[i] += other.digits[i];
    ox_exact_settle(into);
}

double ox_exact_value(struct ox_exact_sum *sum)
{
    ox_exact_settle(sum);
    double value = 0;
    for (size_t i = OX_EXACT_DIGITS; i-- > 0;)
        value += ldexp((double)sum->digits[i], 32 * (int)i + LOWEST);
    return value;
}
