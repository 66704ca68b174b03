/* Sums of weights, and what zero points make of them. */
#include <string.h>

#include "kernels/integer.h"

enum { COLUMNS = 256, ROWS = 256, ABREAST = 8 };

/* Rows of bytes as they are, added in 16 bits, which hold 257 of them. */
static void add_rows(size_t n, size_t rows, const uint8_t *restrict w, size_t step, uint8_t flip,
                     uint16_t *restrict part)
{
    size_t i = 0;
    for (; i + ABREAST <= rows; i += ABREAST, w += ABREAST * step)
        for (size_t j = 0; j < n; j++) {
            uint16_t sum = part[j];
            for (size_t k = 0; k < ABREAST; k++)
                sum = (uint16_t)(sum + (w[k * step + j] ^ flip));
            part[j] = sum;
        }
    for (; i < rows; i++, w += step)
        for (size_t j = 0; j < n; j++)
            part[j] = (uint16_t)(part[j] + (w[j] ^ flip));
}

/* Columns that lie side by side: as bytes that are 128 more than the signed ones. */
static void sum_columns(size_t n, size_t count, const uint8_t *w, size_t step, bool is_signed,
                        int32_t *sums)
{
    const uint32_t more = (uint32_t)count * 128;
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < COLUMNS ? n - at : COLUMNS;
        for (size_t i = 0; i < count; i += ROWS) {
            uint16_t part[COLUMNS] = {0};
            add_rows(some, count - i < ROWS ? count - i : ROWS, w + i * step + at, step,
                     is_signed ? 0x80 : 0, part);
            for (size_t j = 0; j < some; j++)
                sums[at + j] += part[j];
        }
        for (size_t j = 0; j < some; j++)
            sums[at + j] = (int32_t)((uint32_t)sums[at + j] - more);
    }
}

void ox_integer_sums(size_t n, size_t count, const void *weights, bool is_signed, size_t step,
                     size_t col, int32_t *sums)
{
    const uint8_t *w = weights;
    const uint8_t flip = is_signed ? 0 : 0x80;
    memset(sums, 0, n * sizeof *sums);
    if (col == 1)
        sum_columns(n, count, w, step, is_signed, sums);
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
