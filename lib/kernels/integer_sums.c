/* Sums of weights, and what zero points make of them. */
#include <string.h>

#include "kernels/integer.h"

void ox_integer_sums(size_t n, size_t count, const void *weights, bool is_signed, size_t step,
                     size_t col, int32_t *sums)
{
    const uint8_t *w = weights;
    const uint8_t flip = is_signed ? 0 : 0x80;
    memset(sums, 0, n * sizeof *sums);
    for (size_t i = 0; col == 1 && i < count; i++) {
        const uint8_t *row = w + i * step;
        for (size_t j = 0; j < n; j++)
            sums[j] += (int8_t)(row[j] ^ flip);
    }
    for (size_t j = 0; col != 1 && j < n; j++) {
        int32_t sum = 0;
        for (size_t i = 0; step == 1 && i < count; i++)
            sum += (int8_t)(w[j * col + i] ^ flip);
        for (size_t i = 0; step != 1 && i < count; i++)
            sum += (int8_t)(w[j * col + i * step] ^ flip);
        sums[j] = sum;
    }
}

void ox_integer_offsets(size_t n, size_t count, const int32_t *sums, int32_t za,
                        const int32_t *weight_zero, const int32_t *bias, int32_t *offset)
{
    for (size_t j = 0; j < n; j++) { /* wraps */
        uint32_t out = bias ? (uint32_t)bias[j] : 0;
        out -= (uint32_t)za * (uint32_t)sums[j];
        if (weight_zero)
            out += (uint32_t)count * (uint32_t)za * (uint32_t)weight_zero[j];
        offset[j] = (int32_t)out;
    }
}
