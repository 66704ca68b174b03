/* Sums to bytes in registers, for AVX-512: the nearest integer of the exact product, which one fused multiply and add to a float of
 * units of 1 gives where the sum fits a float. */
#ifndef OX_KERNELS_X86_INTEGER_END_AVX512_H
#define OX_KERNELS_X86_INTEGER_END_AVX512_H

#include <immintrin.h>

#include "kernels/integer.h"

/* Floats of this size are whole: adding it rounds, halves to even, and the bits' difference is the number. */
#define WHOLE 0x1.8p23f

struct ends {
    __m512 whole, least; /* least: below 16 bits, and above where bits turn over */
    __m512i less;        /* WHOLE's bits less the zero point */
    __m512i lo, hi;
    bool is_signed;
};

static inline __m512d half_of(__m512 x, unsigned half)
{
    return _mm512_cvtps_pd(half ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}

/* As whole_of(), where a sum has more bits than a float. */
static __attribute__((noinline, unused)) __m512i whole_in_double(const struct ends *e, __m512i sums,
                                                                 __m512 fraction, __m512 scale)
{
    const __m512d most = _mm512_set1_pd(1 << 20), least = _mm512_set1_pd(-(1 << 20));
    const __m512 near = _mm512_cvtepi32_ps(sums), with = _mm512_add_ps(near, fraction);
    __m256i out[2];
    for (unsigned half = 0; half < 2; half++) {
        const __m256i x = half ? _mm512_extracti64x4_epi64(sums, 1) : _mm512_castsi512_si256(sums);
        const __m512d more = _mm512_sub_pd(half_of(with, half), half_of(near, half));
        const __m512d y =
            _mm512_mul_pd(_mm512_add_pd(_mm512_cvtepi32_pd(x), more), half_of(scale, half));
        out[half] = _mm512_cvtpd_epi32(_mm512_min_pd(_mm512_max_pd(y, least), most));
    }
    const __m512i whole = _mm512_inserti64x4(_mm512_castsi256_si512(out[0]), out[1], 1);
    return _mm512_add_epi32(whole, _mm512_sub_epi32(_mm512_castps_si512(e->whole), e->less));
}

/* Sums as floats, with their columns' fractions; NULL: none. */
static inline __attribute__((always_inline)) __m512 floats_of(__m512i sums, const __m512 *fraction)
{
    const __m512 x = _mm512_cvtepi32_ps(sums);
    return fraction ? _mm512_add_ps(x, *fraction) : x;
}

/* The nearest integers plus zero, or what is beyond 16 bits like them. NaN is the least. */
static inline __m512i whole_of(const struct ends *e, __m512 sums, __m512 scale)
{
    const __m512 x = _mm512_fmadd_ps(sums, scale, e->whole);
    return _mm512_sub_epi32(_mm512_castps_si512(_mm512_max_ps(x, e->least)), e->less);
}

/* The same of products below 2^22 in size. */
static inline __m512i near_of(const struct ends *e, __m512 sums, __m512 scale)
{
    const __m512 x = _mm512_fmadd_ps(sums, scale, e->whole);
    return _mm512_sub_epi32(_mm512_castps_si512(x), e->less);
}

/* The 128 bits i of the result are those of each of the four, one after another. */
static inline __attribute__((always_inline)) __m512i bytes_of(const struct ends *e,
                                                              const __m512i *whole)
{
    const __m512i words = _mm512_packs_epi32(whole[0], whole[1]);
    const __m512i more = _mm512_packs_epi32(whole[2], whole[3]);
    __m512i bytes;
    if (e->is_signed) {
        bytes = _mm512_packs_epi16(words, more);
        bytes = _mm512_min_epi8(_mm512_max_epi8(bytes, e->lo), e->hi);
    } else {
        bytes = _mm512_packus_epi16(words, more);
        bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, e->lo), e->hi);
    }
    return bytes;
}

static inline struct ends ends_of(const struct ox_integer_end *end)
{
    const __m512 whole = _mm512_set1_ps(WHOLE);
    return (struct ends){whole,
                         _mm512_set1_ps(WHOLE - 0x1p17f),
                         _mm512_sub_epi32(_mm512_castps_si512(whole), _mm512_set1_epi32(end->zero)),
                         _mm512_set1_epi8((char)end->lo),
                         _mm512_set1_epi8((char)end->hi),
                         end->type == OX_INTEGER_S8};
}

#endif
