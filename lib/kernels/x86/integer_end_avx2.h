/* Sums to bytes in registers, for AVX2: as integer_end_avx512.h does it. */
#ifndef OX_KERNELS_X86_INTEGER_END_AVX2_H
#define OX_KERNELS_X86_INTEGER_END_AVX2_H

#include <immintrin.h>

#include <string.h>

#include "kernels/inline.h"
#include "kernels/integer.h"

/* Floats of this size are whole: adding it rounds, halves to even, and the bits' difference is the number. */
#define WHOLE 0x1.8p23f

struct ends {
    __m256 whole, least; /* least: below 16 bits, and above where bits turn over */
    __m256i less;        /* WHOLE's bits less the zero point */
    __m256i lo, hi;
    bool is_signed;
};

static inline __m256d half_of(__m256 x, unsigned half)
{
    return _mm256_cvtps_pd(half ? _mm256_extractf128_ps(x, 1) : _mm256_castps256_ps128(x));
}

/* As whole_of(), where a sum has more bits than a float. */
static __attribute__((noinline, unused)) __m256i whole_in_double(const struct ends *e, __m256i sums,
                                                                 __m256 fraction, __m256 scale)
{
    const __m256d most = _mm256_set1_pd(1 << 20), least = _mm256_set1_pd(-(1 << 20));
    const __m256 near = _mm256_cvtepi32_ps(sums), with = _mm256_add_ps(near, fraction);
    __m128i out[2];
    for (unsigned half = 0; half < 2; half++) {
        const __m128i x = half ? _mm256_extracti128_si256(sums, 1) : _mm256_castsi256_si128(sums);
        const __m256d more = _mm256_sub_pd(half_of(with, half), half_of(near, half));
        const __m256d y =
            _mm256_mul_pd(_mm256_add_pd(_mm256_cvtepi32_pd(x), more), half_of(scale, half));
        out[half] = _mm256_cvtpd_epi32(_mm256_min_pd(_mm256_max_pd(y, least), most));
    }
    return _mm256_add_epi32(_mm256_set_m128i(out[1], out[0]),
                            _mm256_sub_epi32(_mm256_castps_si256(e->whole), e->less));
}

/* Sums as floats, with their columns' fractions; NULL: none. */
static inline __attribute__((always_inline)) __m256 floats_of(__m256i sums, const __m256 *fraction)
{
    const __m256 x = _mm256_cvtepi32_ps(sums);
    return fraction ? _mm256_add_ps(x, *fraction) : x;
}

/* The nearest integers plus zero, or what is beyond 16 bits like them. NaN is the least. */
static inline __m256i whole_of(const struct ends *e, __m256 sums, __m256 scale)
{
    const __m256 x = _mm256_fmadd_ps(sums, scale, e->whole);
    return _mm256_sub_epi32(_mm256_castps_si256(_mm256_max_ps(x, e->least)), e->less);
}

/* The fours i and i + 4 of the result are the halves of vector i. */
static inline __attribute__((always_inline)) __m256i bytes_of(const struct ends *e,
                                                              const __m256i *whole)
{
    const __m256i words = _mm256_packs_epi32(whole[0], whole[1]);
    const __m256i more = _mm256_packs_epi32(whole[2], whole[3]);
    if (e->is_signed) {
        const __m256i bytes = _mm256_packs_epi16(words, more);
        return _mm256_min_epi8(_mm256_max_epi8(bytes, e->lo), e->hi);
    }
    const __m256i bytes = _mm256_packus_epi16(words, more);
    return _mm256_min_epu8(_mm256_max_epu8(bytes, e->lo), e->hi);
}

/* A row of sixteen bytes, or the first n. */
INLINE void store_row(uint8_t *out, __m128i bytes, const bool whole, size_t n)
{
    if (whole)
        _mm_storeu_si128((__m128i *)(void *)out, bytes);
    else
        memcpy(out, &bytes, n);
}

/* Rows of sums of sixteen columns, two at a time, to bytes. */
INLINE void leave_rows(const struct ends *e, const __m256 *scale, const __m256 *fraction,
                       const unsigned rows, __m256i (*sum)[2], const bool whole, size_t n,
                       uint8_t *out, size_t out_row)
{
#pragma GCC unroll 3
    for (unsigned i = 0; i < rows; i += 2, out += 2 * out_row) {
        __m256i two[4];
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) {
            const __m256i x = sum[i + k / 2 < rows ? i + k / 2 : i][k % 2];
            two[k] = whole_of(e, floats_of(x, fraction ? fraction + k % 2 : NULL), scale[k % 2]);
        }
        const __m256i bytes = _mm256_permutevar8x32_epi32(
            bytes_of(e, two), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        store_row(out, _mm256_castsi256_si128(bytes), whole, n);
        if (i + 1 < rows)
            store_row(out + out_row, _mm256_extracti128_si256(bytes, 1), whole, n);
    }
}

static inline struct ends ends_of(const struct ox_integer_end *end)
{
    const __m256 whole = _mm256_set1_ps(WHOLE);
    return (struct ends){whole,
                         _mm256_set1_ps(WHOLE - 0x1p17f),
                         _mm256_sub_epi32(_mm256_castps_si256(whole), _mm256_set1_epi32(end->zero)),
                         _mm256_set1_epi8((char)end->lo),
                         _mm256_set1_epi8((char)end->hi),
                         end->type == OX_INTEGER_S8};
}

#endif
