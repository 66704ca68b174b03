/* Sums of floats without rounding: the same for any order and any division of the terms. */
#ifndef OX_QUANT_EXACT_SUM_H
#define OX_QUANT_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { OX_EXACT_DIGITS = 12 };

/* Fixed point: digit i counts units of 2^(32 i - 160). Digits are carried over by ox_exact_settle(). */
struct ox_exact_sum {
    int64_t digits[OX_EXACT_DIGITS];
    uint32_t n_loose; /* terms since digits were carried over */
};

/* A finite value. */
void ox_exact_add(struct ox_exact_sum *sum, float value);
void ox_exact_merge(struct ox_exact_sum *into, const struct ox_exact_sum *from);
/* Every digit but the last within 0 and 2^32 - 1: one form for each value. */
void ox_exact_settle(struct ox_exact_sum *sum);
/* Rounded to double; settles. */
double ox_exact_value(struct ox_exact_sum *sum);

#endif
