#include "kernels/few_bits_bytes.h"

#include <float.h>
#include <math.h>

enum { MOST_BLOCK = 128, MOST_CODE = 127 };

static bool quantize(const struct ox_byte_rows *a, const float *x, size_t row)
{
    int8_t *codes = a->codes + row * a->k;
    for (size_t b = 0; b < a->blocks; b++, x += a->block) {
        float most = 0;
        int sum = 0;
        for (size_t p = 0; p < a->block; p++) {
            if (!isfinite(x[p]))
                return false;
            most = fabsf(x[p]) > most ? fabsf(x[p]) : most;
        }
        const float scale = most / MOST_CODE, inverse = scale < FLT_MIN ? 0 : 1 / scale;
        for (size_t p = 0; p < a->block; p++) {
            const int code = (int)rintf(x[p] * inverse);
            codes[ox_byte_place(a, b * a->block + p)] = (int8_t)code;
            sum += code;
        }
        a->scales[b * a->m + row] = scale;
        a->sums[b * a->m + row] = (float)sum;
    }
    return true;
}

static float dot(const struct ox_few_bits *w, size_t column, const struct ox_byte_rows *a,
                 size_t row)
{
    const uint8_t *weights = w->codes + column * (w->k * w->bits / 8);
    const int8_t *codes = a->codes + row * a->k;
    float all = 0;
    for (size_t b = 0; b < a->blocks; b++) {
        const size_t block = b * a->block / w->block, at = b * a->m + row;
        int sum = 0;
        for (size_t p = b * a->block; p < (b + 1) * a->block; p++)
            sum += codes[ox_byte_place(a, p)] * (int)ox_few_bits_code(weights, p, w->bits);
        all += ((float)sum - ox_few_bits_zero(w, column, block) * a->sums[at]) *
               (w->scales[column * w->blocks + block] * a->scales[at]);
    }
    return all;
}

static void dots(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_byte_rows *a,
                 float *c, size_t ldc)
{
    for (size_t i = 0; i < a->m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = dot(w, first + j, a, i);
}

const struct ox_few_bits_bytes *ox_few_bits_bytes(enum ox_cpu level, const struct ox_few_bits *w)
{
    static const struct ox_few_bits_bytes plain = {.quantize = quantize, .dots = dots};
    const size_t least = w->bits == 8 ? 16 : 32; /* codes of a block */
    if ((w->bits != 4 && w->bits != 8) || w->block < least || w->real_zeros)
        return NULL;
#if defined(__x86_64__)
    if (level == OX_CPU_AVX2 || level == OX_CPU_AVXVNNI)
        return &ox_few_bits_bytes_avx2;
#endif
    return level == OX_CPU_C ? &plain : NULL;
}

struct ox_byte_rows ox_byte_rows(const struct ox_few_bits *w, size_t m)
{
    const size_t block = w->block < MOST_BLOCK ? w->block : MOST_BLOCK;
    struct ox_byte_rows a = {.m = m, .k = w->k, .block = block, .blocks = w->k / block, .chunk = 1};
    if (w->bits == 4)
        a.chunk = ox_byte_rows_are_few(&a) ? 64 : 8;
    return a;
}
