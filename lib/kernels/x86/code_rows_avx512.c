/* Codes of sixteen floats at a time, rounded by the conversion itself; what is past a row's end is masked. */
#include <immintrin.h>

#include "kernels/code_rows.h"
#include "kernels/inline.h"

INLINE __m512i sixteen_codes(__mmask16 mask, const float *x, __m512 scale, __m512i zero,
                             __m512i low, __m512i high)
{
    const __m512 least = _mm512_cvtepi32_ps(_mm512_sub_epi32(low, zero));
    const __m512 most = _mm512_cvtepi32_ps(_mm512_sub_epi32(high, zero));
    __m512 q = _mm512_div_ps(_mm512_maskz_loadu_ps(mask, x), scale);
    q = _mm512_min_ps(_mm512_max_ps(q, least), most); /* of NaN the least */
    return _mm512_add_epi32(_mm512_cvtps_epi32(q), zero);
}

INLINE void quantize_row(size_t n, const float *x, size_t step, const float *scale,
                         const int32_t *zero, void *to, int32_t least, int32_t most, size_t size)
{
    const __m512i low = _mm512_set1_epi32(least), high = _mm512_set1_epi32(most);
    const __m512 one_scale = _mm512_set1_ps(*scale);
    const __m512i one_zero = _mm512_set1_epi32(*zero);
    char *y = to;
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)-1;
        __m512 by = one_scale;
        __m512i more = one_zero;
        if (step) {
            by = _mm512_mask_loadu_ps(one_scale, mask, scale + i);
            more = _mm512_maskz_loadu_epi32(mask, zero + i);
        }
        const __m512i codes = sixteen_codes(mask, x + i, by, more, low, high);
        if (size == 1)
            _mm512_mask_cvtepi32_storeu_epi8(y + i, mask, codes);
        else
            _mm512_mask_cvtepi32_storeu_epi16(y + 2 * i, mask, codes);
    }
}

static void quantize_u8(size_t n, const float *x, size_t step, const float *scale,
                        const int32_t *zero, void *y)
{
    quantize_row(n, x, step, scale, zero, y, 0, UINT8_MAX, 1);
}

static void quantize_i8(size_t n, const float *x, size_t step, const float *scale,
                        const int32_t *zero, void *y)
{
    quantize_row(n, x, step, scale, zero, y, INT8_MIN, INT8_MAX, 1);
}

static void quantize_u16(size_t n, const float *x, size_t step, const float *scale,
                         const int32_t *zero, void *y)
{
    quantize_row(n, x, step, scale, zero, y, 0, UINT16_MAX, 2);
}

static void quantize_i16(size_t n, const float *x, size_t step, const float *scale,
                         const int32_t *zero, void *y)
{
    quantize_row(n, x, step, scale, zero, y, INT16_MIN, INT16_MAX, 2);
}

void ox_codes_avx512(struct ox_codes *c)
{
    if (c->dtype == OX_UINT8)
        c->quantize = quantize_u8;
    else if (c->dtype == OX_INT8)
        c->quantize = quantize_i8;
    else if (c->dtype == OX_UINT16)
        c->quantize = quantize_u16;
    else if (c->dtype == OX_INT16)
        c->quantize = quantize_i16;
}
