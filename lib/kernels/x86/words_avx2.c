#include <immintrin.h>

#include "kernels/words.h"

enum { WIDTH = 8 };

size_t ox_words_quantize_avx2(size_t n, const float *x, const struct ox_bytes_code *code,
                              uint16_t *y)
{
    const __m256 scale = _mm256_set1_ps(code->scale);
    const __m256 lo = _mm256_set1_ps((float)(code->lo - code->zero));
    const __m256 hi = _mm256_set1_ps((float)(code->hi - code->zero));
    const __m256i zero = _mm256_set1_epi32(code->zero), low = _mm256_set1_epi32(0xFFFF);
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        /* of a NaN the second operand */
        __m256 q = _mm256_max_ps(_mm256_div_ps(_mm256_loadu_ps(x + i), scale), lo);
        q = _mm256_min_ps(q, hi);
        __m256i whole = _mm256_add_epi32(_mm256_cvtps_epi32(q), zero);
        whole = _mm256_and_si256(whole, low);
        whole = _mm256_permute4x64_epi64(_mm256_packus_epi32(whole, whole), 0x08);
        _mm_storeu_si128((__m128i *)(void *)(y + i), _mm256_castsi256_si128(whole));
    }
    return i;
}

size_t ox_words_dequantize_avx2(size_t n, const uint16_t *x, uint16_t flip, int32_t zero,
                                float scale, float *y)
{
    const __m256i turn = _mm256_set1_epi32(flip), less = _mm256_set1_epi32(zero);
    const __m256 by = _mm256_set1_ps(scale);
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        __m256i whole =
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(x + i)));
        whole = _mm256_sub_epi32(_mm256_xor_si256(whole, turn), less);
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_cvtepi32_ps(whole), by));
    }
    return i;
}
