/* Sums of MIXED in registers, for AVX2: up to six rows by a panel. */
#ifndef OX_KERNELS_X86_INTEGER_MIXED_AVX2_H
#define OX_KERNELS_X86_INTEGER_MIXED_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

enum { ROWS = 6, LANES = 8, COLS = 2 * LANES, QUAD = 4 * COLS };
#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Four bytes over and over. */
INLINE __m256i four_of(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

/* The second weights stay in memory: a compiler that loads them first has no register left for a sum. */
INLINE __m256i pairs_at(__m256i x, const char *weights)
{
    __m256i pairs;
    __asm__("vpmaddubsw %2, %1, %0"
            : "=x"(pairs)
            : "x"(x), "m"(*(const __m256i *)(const void *)weights));
    return pairs;
}

INLINE __m256i add_pairs(__m256i sum, __m256i pairs)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* A four of bytes, at place p of each row. */
INLINE void tight_step(const unsigned rows, const uint8_t *const *a, size_t p, const char *b,
                       __m256i (*sum)[2])
{
    const __m256i w = load(b);
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = four_of(a[i] + p);
        sum[i][0] = add_pairs(sum[i][0], _mm256_maddubs_epi16(x, w));
        sum[i][1] = add_pairs(sum[i][1], pairs_at(x, b + sizeof(__m256i)));
    }
}

/* Two words. */
INLINE void words_step(const unsigned rows, const uint8_t *const *a, size_t p, const char *b,
                       __m256i (*sum)[2])
{
    const __m256i u = load(b), v = load(b + sizeof(__m256i));
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = four_of(a[i] + p);
        sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(x, u));
        sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(x, v));
    }
}

INLINE void start_sums(const unsigned rows, __m256i u, __m256i v, __m256i (*sum)[2])
{
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = u;
        sum[i][1] = v;
    }
}

INLINE void use_rows(const unsigned rows, const uint8_t *const *from, const uint8_t **a)
{
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++)
        a[i] = from[i];
}

/* What the panel's sums begin with. */
INLINE const int32_t *first_sums(const void *panel, size_t depth)
{
    return (const int32_t *)(const void *)((const char *)panel + ox_integer_head(depth / 4));
}

/* Rows as struct ox_integer_tile has them. */
INLINE void sum_up(const unsigned rows, const uint8_t *const *forms, size_t depth,
                   const void *panel, __m256i (*sum)[2])
{
    const uint8_t *a[ROWS];
    const size_t n = depth / 4;
    const uint32_t *at = panel, *tight = at + 2 + at[0], *turned = tight + at[1];
    const uint32_t *end = turned + 2 * (n - at[0] - at[1]);
    const char *b = (const char *)(first_sums(panel, depth) + COLS);
    at += 2;
    if (at < tight)
        use_rows(rows, forms, a);
    for (; at < tight; at++, b += QUAD)
        tight_step(rows, a, at[0], b, sum);
    if (at < turned)
        use_rows(rows, forms + (size_t)2 * ROWS, a);
    for (; at < turned; at++, b += QUAD)
        tight_step(rows, a, at[0], b, sum);
    use_rows(rows, forms + ROWS, a);
    const size_t words = at == end - n * 2 ? 2 * depth : 0; /* all of them, in order */
    for (size_t p = 0; p < words; p += 4, b += QUAD)
        words_step(rows, a, p, b, sum);
    for (; !words && at < end; at++, b += QUAD)
        words_step(rows, a, at[0], b, sum);
}

#endif
