#include "kernels/few_bits.h"

static float weight(const struct ox_few_bits *w, size_t column, size_t p)
{
    const uint8_t *codes = w->codes + column * (w->k * w->bits / 8);
    const size_t block = p / w->block;
    if (w->values)
        return w->values[codes[p / 2] >> (p % 2 ? 0 : 4) & 15] *
               w->scales[column * w->blocks + block];
    return ((float)ox_few_bits_code(codes, p, w->bits) - ox_few_bits_zero(w, column, block)) *
           w->scales[column * w->blocks + block];
}

static void dots(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j++) {
        float sum[OX_FEW_BITS_ROWS] = {0};
        for (size_t p = 0; p < w->k; p++) {
            const float value = weight(w, first + j, p);
            for (unsigned i = 0; i < rows; i++)
                sum[i] += a[i * lda + p] * value;
        }
        for (unsigned i = 0; i < rows; i++)
            c[i * ldc + j] = sum[i];
    }
}

static void widen(const struct ox_few_bits *w, size_t column, float *out)
{
    for (size_t p = 0; p < w->k; p++)
        out[p] = weight(w, column, p);
}

const struct ox_few_bits_kernels *ox_few_bits_kernels(enum ox_cpu level,
                                                      const struct ox_few_bits *w)
{
    static const struct ox_few_bits_kernels plain = {
        .chunk = 1, .rows = OX_FEW_BITS_ROWS, .dots = dots, .widen = widen, .list = widen};
#if defined(__x86_64__)
    const size_t codes = w->bits == 4 ? 2 : 1; /* of a byte */
    if (level >= OX_CPU_AVX512 && w->bits >= 4 && w->block % (16 * codes) == 0)
        return &ox_few_bits_avx512;
    if (level >= OX_CPU_AVX2 && w->bits >= 4 && w->block % (8 * codes) == 0)
        return level >= OX_CPU_AVX512 ? &ox_few_bits_avx2_wide : &ox_few_bits_avx2;
#endif
    (void)level;
    (void)w;
    return &plain;
}

void ox_few_bits_arrange(const struct ox_few_bits_kernels *t, const struct ox_few_bits *w,
                         const float *a, float *out)
{
    const size_t chunk = w->bits == 4 ? t->chunk : 1, half = chunk / 2, high = w->values ? 1 : 0;
    for (size_t p = 0; p < w->k; p += chunk) {
        out[p] = a[p];
        for (size_t i = 0; i < half; i++) {
            out[p + i] = a[p + 2 * i + high];
            out[p + half + i] = a[p + 2 * i + 1 - high];
        }
    }
}
