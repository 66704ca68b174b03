/* Rows of 32-bit sums on their way out, sixteen at a time. */
#include <immintrin.h>

#include "kernels/integer.h"

/* Up to sixteen columns. */
struct part {
    const int32_t *sums;
    const struct ox_integer_end *end;
    size_t at;
    __mmask16 mask;
};

static inline __m512i sums_of(const struct part *p, int32_t row_term)
{
    const struct ox_integer_end *end = p->end;
    __m512i x = _mm512_maskz_loadu_epi32(p->mask, p->sums + p->at);
    if (end->offset)
        x = _mm512_add_epi32(x, _mm512_maskz_loadu_epi32(p->mask, end->offset + p->at));
    if (end->weight_zero) {
        const __m512i zero = _mm512_maskz_loadu_epi32(p->mask, end->weight_zero + p->at);
        x = _mm512_sub_epi32(x, _mm512_mullo_epi32(_mm512_set1_epi32(row_term), zero));
    }
    return x;
}

static inline __m512 scale_of(const struct part *p)
{
    return _mm512_maskz_loadu_ps(p->mask, p->end->scale + p->at);
}

/* The double's nearest integer, where a product in float may have another: it fell on a half that is none, or the sum has more bits
 * than a float. */
static __attribute__((noinline)) __m512i whole_in_double(__m512i sums, __m512 scale, double lo,
                                                         double hi)
{
    __m256i out[2];
    for (unsigned half = 0; half < 2; half++) {
        const __m256i s = half ? _mm512_extracti64x4_epi64(sums, 1) : _mm512_castsi512_si256(sums);
        const __m256 by = half ? _mm512_extractf32x8_ps(scale, 1) : _mm512_castps512_ps256(scale);
        const __m512d x = _mm512_mul_pd(_mm512_cvtepi32_pd(s), _mm512_cvtps_pd(by));
        const __m512d within =
            _mm512_min_pd(_mm512_set1_pd(hi), _mm512_max_pd(_mm512_set1_pd(lo), x));
        out[half] = _mm512_cvtpd_epi32(within);
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(out[0]), out[1], 1);
}

static inline void bytes_of(const struct part *p, int32_t row_term, __m512 lo, __m512 hi,
                            __m512i zero, uint8_t *out)
{
    const struct ox_integer_end *end = p->end;
    const __m512i sums = sums_of(p, row_term);
    const __m512 scale = scale_of(p), s = _mm512_cvtepi32_ps(sums);
    const __m512 within = _mm512_min_ps(hi, _mm512_max_ps(lo, _mm512_mul_ps(s, scale)));
    __m512i whole = _mm512_cvtps_epi32(within);
    const __m512 off = _mm512_abs_ps(_mm512_sub_ps(within, _mm512_cvtepi32_ps(whole)));
    const __mmask16 unsure =
        _mm512_cmp_ps_mask(off, _mm512_set1_ps(0.5f), _CMP_EQ_OQ) |
        _mm512_cmp_ps_mask(_mm512_abs_ps(s), _mm512_set1_ps(0x1p24f), _CMP_GE_OQ);
    if (__builtin_expect(unsure, 0))
        whole = whole_in_double(sums, scale, end->lo - end->zero, end->hi - end->zero);
    _mm512_mask_cvtepi32_storeu_epi8(out + p->at, p->mask, _mm512_add_epi32(whole, zero));
}

static inline void floats_of(const struct part *p, int32_t row_term, float *out)
{
    const struct ox_integer_end *end = p->end;
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums_of(p, row_term)), scale_of(p));
    if (end->bias)
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(p->mask, end->bias + p->at));
    x = _mm512_min_ps(_mm512_set1_ps(end->hi_f), _mm512_max_ps(_mm512_set1_ps(end->lo_f), x));
    _mm512_mask_storeu_ps(out + p->at, p->mask, x);
}

static void finish(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out)
{
    const __m512 lo = _mm512_set1_ps((float)(end->lo - end->zero));
    const __m512 hi = _mm512_set1_ps((float)(end->hi - end->zero));
    const __m512i zero = _mm512_set1_epi32(end->zero);
    struct part p = {sums, end, 0, 0xffff};
    for (; p.at < n; p.at += 16) {
        if (n - p.at < 16)
            p.mask = (__mmask16)((1u << (n - p.at)) - 1);
        if (end->type == OX_INTEGER_I32)
            _mm512_mask_storeu_epi32((int32_t *)out + p.at, p.mask, sums_of(&p, row_term));
        else if (end->type == OX_INTEGER_F32)
            floats_of(&p, row_term, out);
        else
            bytes_of(&p, row_term, lo, hi, zero, out);
    }
}

void ox_integer_end_avx512(struct ox_integer *t)
{
    t->finish = finish;
}
