/* How whole numbers become codes under AVX-512, and sums of two codes, in fixed point. The includer has dot_words(). */
#ifndef OX_KERNELS_X86_BYTES_SUM_AVX512_H
#define OX_KERNELS_X86_BYTES_SUM_AVX512_H

#include <immintrin.h>

#include "kernels/bytes.h"

enum { LANES = 16, PARTS = 4, ALL = LANES * PARTS };

static inline __mmask64 first(size_t n)
{
    return n < ALL ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
}

/* How whole numbers become codes. */
struct codes {
    __m512i zero, lo, hi;
    bool is_signed;
};

static inline struct codes codes_of(int32_t zero, int32_t lo, int32_t hi)
{
    return (struct codes){_mm512_set1_epi16((int16_t)zero), _mm512_set1_epi8((char)lo),
                          _mm512_set1_epi8((char)hi), lo < 0};
}

/* Of four neighbours in each sixteen. */
static inline __attribute__((always_inline)) __m512i codes_in_order(const struct codes *c,
                                                                    __m512i whole0, __m512i whole1,
                                                                    __m512i whole2, __m512i whole3)
{
    const __m512i words = _mm512_adds_epi16(_mm512_packs_epi32(whole0, whole1), c->zero);
    const __m512i more = _mm512_adds_epi16(_mm512_packs_epi32(whole2, whole3), c->zero);
    if (c->is_signed)
        return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(words, more), c->lo), c->hi);
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(words, more), c->lo), c->hi);
}

struct sum {
    __m512i high, low, start, fraction, unsure, turn;
    __m512i shift;
    __m512i odd, less_half; /* of exact sums, which start without the half */
    struct codes codes;
    bool plain; /* what is shifted are codes, but for those that saturate */
};

/* The factors of a pair of words. */
static __m512i factors(int32_t a, int32_t b)
{
    return _mm512_set1_epi32((int32_t)(((uint32_t)b << 16) | ((uint32_t)a & 0xffff)));
}

static struct sum sum_of(const struct ox_bytes_pair *pair)
{
    enum { LOW = 1 << OX_BYTES_LOW_BITS };
    const int32_t half = 1 << (pair->bits - 1);
    const int32_t start = pair->exact ? pair->start - OX_BYTES_UNSURE - half : pair->start;
    const bool whole = pair->lo < 0 ? pair->lo == INT8_MIN && pair->hi == INT8_MAX
                                    : !pair->lo && pair->hi == UINT8_MAX;
    const int32_t a = (pair->by_a + LOW / 2) >> OX_BYTES_LOW_BITS;
    const int32_t b = (pair->by_b + LOW / 2) >> OX_BYTES_LOW_BITS;
    return (struct sum){.high = factors(a, b),
                        .low = factors(pair->by_a - a * LOW, pair->by_b - b * LOW),
                        .start = _mm512_set1_epi32(start),
                        .fraction = _mm512_set1_epi32((1 << pair->bits) - 1),
                        .unsure = _mm512_set1_epi32(2 * OX_BYTES_UNSURE),
                        .turn = _mm512_set1_epi8((char)pair->flip),
                        .shift = _mm512_set1_epi32((int32_t)pair->bits),
                        .odd = _mm512_set1_epi32(pair->middle & 1),
                        .less_half = _mm512_set1_epi32(half - 1),
                        .codes = codes_of(pair->zero + pair->middle, pair->lo, pair->hi),
                        .plain = whole && pair->zero + pair->middle == 0};
}

/* Of four neighbours in each sixteen, pairs of words. */
static inline __attribute__((always_inline)) __m512i sums_of(const struct sum *s, __m512i pairs)
{
    const __m512i high = _mm512_slli_epi16(pairs, OX_BYTES_LOW_BITS);
    return dot_words(dot_words(s->start, pairs, s->low), high, s->high);
}

struct sums {
    __m512i a, b, c, d;
};

static inline __attribute__((always_inline)) struct sums
four_sums(const uint8_t *a, const uint8_t *b, const struct sum *s, __mmask64 mask, const bool turns)
{
    __m512i u = _mm512_maskz_loadu_epi8(mask, a), v = _mm512_maskz_loadu_epi8(mask, b);
    if (turns) {
        u = _mm512_xor_si512(u, s->turn);
        v = _mm512_xor_si512(v, s->turn);
    }
    const __m512i none = _mm512_setzero_si512();
    const __m512i low = _mm512_unpacklo_epi8(u, v), high = _mm512_unpackhi_epi8(u, v);
    return (struct sums){
        sums_of(s, _mm512_unpacklo_epi8(low, none)), sums_of(s, _mm512_unpackhi_epi8(low, none)),
        sums_of(s, _mm512_unpacklo_epi8(high, none)), sums_of(s, _mm512_unpackhi_epi8(high, none))};
}

/* The bytes of sums of which one or the other is near a half. */
static __attribute__((noinline)) __m512i add_unsure(const uint8_t *a, const uint8_t *b,
                                                    const struct sum *s, __mmask64 mask,
                                                    const struct ox_bytes_pair *pair, __m512i bytes)
{
    const struct sums all = four_sums(a, b, s, mask, true);
    const __m512i sums[PARTS] = {all.a, all.b, all.c, all.d};
    uint8_t codes[ALL];
    _mm512_storeu_si512(codes, bytes);
    uint64_t left = 0;
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++)
        left |= (uint64_t)_mm512_cmple_epu32_mask(_mm512_and_si512(sums[k], s->fraction), s->unsure)
                << (k * LANES);
    for (; left; left &= left - 1) {
        const unsigned at = (unsigned)__builtin_ctzll(left), k = at / LANES, lane = at % LANES,
                       i = lane / 4 * 16 + 4 * k + lane % 4;
        if (mask >> i & 1)
            codes[i] = ox_bytes_add_one(a[i], b[i], pair);
    }
    return _mm512_loadu_si512(codes);
}

/* Saturated to what codes can be. */
static inline __attribute__((always_inline)) __m512i saturated(const struct sum *s, struct sums all,
                                                               const bool is_signed)
{
    const __m512i words =
        _mm512_packs_epi32(_mm512_srav_epi32(all.a, s->shift), _mm512_srav_epi32(all.b, s->shift));
    const __m512i more =
        _mm512_packs_epi32(_mm512_srav_epi32(all.c, s->shift), _mm512_srav_epi32(all.d, s->shift));
    return is_signed ? _mm512_packs_epi16(words, more) : _mm512_packus_epi16(words, more);
}

static inline __attribute__((always_inline)) void
add_64(const uint8_t *a, const uint8_t *b, const struct sum *s, __mmask64 mask, uint8_t *y,
       const struct ox_bytes_pair *pair, const bool turns, const bool plain)
{
    const struct sums all = four_sums(a, b, s, mask, turns);
    const __m512i rest = _mm512_min_epu32(_mm512_min_epu32(_mm512_and_si512(all.a, s->fraction),
                                                           _mm512_and_si512(all.b, s->fraction)),
                                          _mm512_min_epu32(_mm512_and_si512(all.c, s->fraction),
                                                           _mm512_and_si512(all.d, s->fraction)));
    __m512i bytes = plain ? saturated(s, all, turns)
                          : codes_in_order(&s->codes, _mm512_srav_epi32(all.a, s->shift),
                                           _mm512_srav_epi32(all.b, s->shift),
                                           _mm512_srav_epi32(all.c, s->shift),
                                           _mm512_srav_epi32(all.d, s->shift));
    if (__builtin_expect(_mm512_cmple_epu32_mask(rest, s->unsure), 0))
        bytes = add_unsure(a, b, s, mask, pair, bytes);
    _mm512_mask_storeu_epi8(y, mask, bytes);
}

/* Less the middle; halves to the even sum. */
static inline __attribute__((always_inline)) __m512i nearest(const struct sum *s, __m512i sum)
{
    enum { LOWEST_NOT_ODD = 0x6a }; /* (a & b) ^ c */
    const __m512i up = _mm512_ternarylogic_epi32(_mm512_srlv_epi32(sum, s->shift),
                                                 _mm512_set1_epi32(1), s->odd, LOWEST_NOT_ODD);
    return _mm512_srav_epi32(_mm512_add_epi32(_mm512_add_epi32(sum, s->less_half), up), s->shift);
}

static inline __attribute__((always_inline)) void
add_exact(const uint8_t *a, const uint8_t *b, const struct sum *s, __mmask64 mask, uint8_t *y)
{
    const struct sums all = four_sums(a, b, s, mask, true);
    const __m512i bytes = codes_in_order(&s->codes, nearest(s, all.a), nearest(s, all.b),
                                         nearest(s, all.c), nearest(s, all.d));
    _mm512_mask_storeu_epi8(y, mask, bytes);
}

static void add_all_exact(size_t rows, size_t n, size_t step, const uint8_t *a, const uint8_t *b,
                          const struct sum *s, uint8_t *y)
{
    for (; rows > 0; rows--, a += step, b += step, y += step) {
        size_t i = 0;
        for (; i + ALL <= n; i += ALL)
            add_exact(a + i, b + i, s, ~(__mmask64)0, y + i);
        if (i < n)
            add_exact(a + i, b + i, s, first(n - i), y + i);
    }
}

static inline __attribute__((always_inline)) void
add_all(size_t rows, size_t n, size_t step, const uint8_t *a, const uint8_t *b, const struct sum *s,
        const struct ox_bytes_pair *pair, uint8_t *y, const bool turns, const bool plain)
{
    for (; rows > 0; rows--, a += step, b += step, y += step) {
        size_t i = 0;
        for (; i + ALL <= n; i += ALL)
            add_64(a + i, b + i, s, ~(__mmask64)0, y + i, pair, turns, plain);
        if (i < n)
            add_64(a + i, b + i, s, first(n - i), y + i, pair, turns, plain);
    }
}

/* Eight by the exact rule: the shares as the tables hold them. */
static inline __m256i add_8(__m256i u, __m256i v, const struct ox_bytes_pair *pair)
{
    const __m512d lo = _mm512_set1_pd(pair->lo), hi = _mm512_set1_pd(pair->hi);
    const __m512d value =
        _mm512_add_pd(_mm512_i32gather_pd(u, pair->a, 8), _mm512_i32gather_pd(v, pair->b, 8));
    const __m512d q = _mm512_add_pd(_mm512_roundscale_pd(value, 0), _mm512_set1_pd(pair->zero));
    return _mm512_cvtpd_epi32(_mm512_min_pd(_mm512_max_pd(q, lo), hi)); /* not a number: lo */
}

/* Of sums that fixed point does not hold. */
static void add_by_table(size_t n, const uint8_t *a, const uint8_t *b,
                         const struct ox_bytes_pair *pair, uint8_t *y)
{
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 mask = (__mmask16)first(n - i);
        const __m512i u = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, a + i));
        const __m512i v = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, b + i));
        const __m256i low = add_8(_mm512_castsi512_si256(u), _mm512_castsi512_si256(v), pair);
        const __m256i high =
            add_8(_mm512_extracti64x4_epi64(u, 1), _mm512_extracti64x4_epi64(v, 1), pair);
        const __m512i whole = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        _mm_mask_storeu_epi8(y + i, mask, _mm512_cvtepi32_epi8(whole));
    }
}

/* Codes that are turned are those of signed results. */
static void add_rows(size_t rows, size_t n, size_t step, const uint8_t *a, const uint8_t *b,
                     const struct ox_bytes_pair *pair, uint8_t *y)
{
    for (size_t i = 0; !pair->bits && i < rows; i++)
        add_by_table(n, a + i * step, b + i * step, pair, y + i * step);
    if (!pair->bits)
        return;
    const struct sum s = sum_of(pair);
    if (pair->exact)
        add_all_exact(rows, n, step, a, b, &s, y);
    else if (!s.plain)
        add_all(rows, n, step, a, b, &s, pair, y, true, false);
    else if (pair->flip)
        add_all(rows, n, step, a, b, &s, pair, y, true, true);
    else
        add_all(rows, n, step, a, b, &s, pair, y, false, true);
}

static void add(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                uint8_t *y)
{
    add_rows(1, n, n, a, b, pair, y);
}

#endif
