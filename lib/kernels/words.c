#include "kernels/words.h"

#include <math.h>

void ox_words_quantize(enum ox_cpu level, size_t n, const float *x,
                       const struct ox_bytes_code *code, uint16_t *y)
{
    const float lo = (float)(code->lo - code->zero), hi = (float)(code->hi - code->zero);
    size_t i = 0;
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        i = ox_words_quantize_avx2(n, x, code, y);
#endif
    (void)level;
    for (; i < n; i++) {
        float q = x[i] / code->scale;
        q = q > lo ? q : lo;
        q = q < hi ? q : hi;
        y[i] = (uint16_t)((int32_t)lrintf(q) + code->zero);
    }
}

void ox_words_dequantize(enum ox_cpu level, size_t n, const uint16_t *x, uint16_t flip,
                         int32_t zero, float scale, float *y)
{
    size_t i = 0;
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        i = ox_words_dequantize_avx2(n, x, flip, zero, scale, y);
#endif
    (void)level;
    for (; i < n; i++)
        y[i] = (float)((int32_t)(x[i] ^ flip) - zero) * scale;
}
