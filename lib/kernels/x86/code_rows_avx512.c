/* Codes of sixteen floats at a time, rounded by the conversion itself; what is past a row's end is masked. */
#include <immintrin.h>
#include <math.h>

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

INLINE void store_codes(char *y, __m512i codes, size_t size)
{
    if (size == 1)
        _mm_storeu_si128((__m128i *)(void *)y, _mm512_cvtepi32_epi8(codes));
    else
        _mm256_storeu_si256((__m256i *)(void *)y, _mm512_cvtepi32_epi16(codes));
}

/* Whether the product by the inverse may lie on another side of a half than the quotient: both are rounded, and so is the inverse. */
INLINE bool is_unsure(__m512 q)
{
    const __m512 rest = _mm512_abs_ps(_mm512_reduce_ps(q, 0));
    const __m512 most = _mm512_fmadd_ps(_mm512_abs_ps(q), _mm512_set1_ps(0x1p-22F), rest);
    return _mm512_cmp_ps_mask(most, _mm512_set1_ps(0.5F), _CMP_NLT_UQ) != 0;
}

/* Whole sixteens by one scale: multiplied by its inverse, unless that is near a half. Gives their number. */
INLINE size_t quantize_alike(size_t n, const float *x, __m512 scale, __m512i zero, char *y,
                             __m512i low, __m512i high, size_t size)
{
    const float inverse = 1 / _mm512_cvtss_f32(scale);
    const __m512 by = _mm512_set1_ps(isnormal(inverse) ? inverse : NAN);
    const __m512i least = _mm512_sub_epi32(low, zero), most = _mm512_sub_epi32(high, zero);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512 q = _mm512_mul_ps(_mm512_loadu_ps(x + i), by);
        const __m512i whole = _mm512_cvtps_epi32(q);
        __m512i codes =
            _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(whole, least), most), zero);
        if (__builtin_expect(is_unsure(q), 0))
            codes = sixteen_codes((__mmask16)-1, x + i, scale, zero, low, high);
        store_codes(y + i * size, codes, size);
    }
    return i;
}

INLINE void quantize_row(size_t n, const float *x, size_t step, const float *scale,
                         const int32_t *zero, void *to, int32_t least, int32_t most, size_t size)
{
    const __m512i low = _mm512_set1_epi32(least), high = _mm512_set1_epi32(most);
    const __m512 one_scale = _mm512_set1_ps(*scale);
    const __m512i one_zero = _mm512_set1_epi32(*zero);
    char *y = to;
    size_t i = step ? 0 : quantize_alike(n, x, one_scale, one_zero, y, low, high, size);
    for (; i < n; i += 16) {
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
