/* Products by a right side that lies row by row: two of its rows at a time are widened in registers. */
#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/integer.h"

enum { ROWS_MOST = 4, TILE_ROWS = 6, HALF = 8, WHOLE = 16, DEPTH_MOST = 1024 };

INLINE __m128i load_some(const uint8_t *p, size_t n)
{
    uint8_t part[WHOLE] = {0};
    if (n >= WHOLE)
        return _mm_loadu_si128((const __m128i *)(const void *)p);
    memcpy(part, p, n);
    return _mm_loadu_si128((const __m128i *)(const void *)part);
}

INLINE __m256i widened(__m128i x, bool is_signed, __m256i zero)
{
    return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x), zero);
}

INLINE void store_some(int32_t *to, __m256i x, size_t n)
{
    int32_t part[HALF];
    if (n >= HALF) {
        _mm256_storeu_si256((__m256i *)(void *)to, x);
        return;
    }
    _mm256_storeu_si256((__m256i *)(void *)part, x);
    memcpy(to, part, n * sizeof *to);
}

/* Columns [j, j + n) of some rows, n <= 16 parts. */
INLINE void block(const struct ox_integer_lying *l, size_t i0, size_t j, size_t n,
                  const unsigned rows, const unsigned parts)
{
    const __m256i zero = _mm256_set1_epi16(l->b_zero);
    const bool is_signed = l->b_signed;
    __m256i sums[ROWS_MOST][2 * ROWS_MOST];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < 2 * parts; v++)
            sums[i][v] = _mm256_setzero_si256();
    for (size_t p = 0; p < l->k; p += 2) {
        const uint8_t *even = l->b + p * l->b_row + j;
        const uint8_t *odd = p + 1 < l->k ? even + l->b_row : even;
#pragma GCC unroll 4
        for (unsigned v = 0; v < parts; v++) {
            const size_t some = parts == 1 ? n : WHOLE;
            const __m128i x = load_some(even + v * WHOLE, some);
            const __m128i y = load_some(odd + v * WHOLE, some);
            const __m256i low = widened(_mm_unpacklo_epi8(x, y), is_signed, zero);
            const __m256i high = widened(_mm_unpackhi_epi8(x, y), is_signed, zero);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++) {
                int32_t pair;
                memcpy(&pair, l->a + (i0 + i) * l->a_row + p, sizeof pair);
                const __m256i a = _mm256_set1_epi32(pair);
                sums[i][2 * v] = _mm256_add_epi32(sums[i][2 * v], _mm256_madd_epi16(a, low));
                sums[i][2 * v + 1] =
                    _mm256_add_epi32(sums[i][2 * v + 1], _mm256_madd_epi16(a, high));
            }
        }
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < 2 * parts; v++)
            if (v * HALF < n)
                store_some(l->c + (i0 + i) * l->c_row + j + v * HALF, sums[i][v], n - v * HALF);
}

INLINE __m256i load_sums(const int32_t *from, size_t n)
{
    int32_t part[HALF] = {0};
    if (n >= HALF)
        return _mm256_loadu_si256((const __m256i *)(const void *)from);
    memcpy(part, from, n * sizeof *from);
    return _mm256_loadu_si256((const __m256i *)(const void *)part);
}

/* Many rows: the columns are widened once for all of them, `depth` rows of them from k0 on. */
INLINE void past_widened(const struct ox_integer_lying *l, const __m256i *panel, size_t k0,
                         size_t depth, size_t i0, size_t j, size_t n, const unsigned rows)
{
    const size_t rest = n > HALF ? n - HALF : 0;
    __m256i sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        const int32_t *from = l->c + (i0 + i) * l->c_row + j;
        sums[i][0] = k0 ? load_sums(from, n) : _mm256_setzero_si256();
        sums[i][1] = k0 ? load_sums(from + (n - rest), rest) : _mm256_setzero_si256();
    }
    for (size_t p = 0; p < depth; p += 2) {
#pragma GCC unroll 6
        for (unsigned i = 0; i < rows; i++) {
            int32_t pair;
            memcpy(&pair, l->a + (i0 + i) * l->a_row + k0 + p, sizeof pair);
            const __m256i a = _mm256_set1_epi32(pair);
            sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(a, panel[p]));
            sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(a, panel[p + 1]));
        }
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        int32_t *to = l->c + (i0 + i) * l->c_row + j;
        store_some(to, sums[i][0], n);
        store_some(to + (n - rest), sums[i][1], rest);
    }
}

static void widened_columns(const struct ox_integer_lying *l, size_t k0, size_t j, size_t n)
{
    __m256i panel[DEPTH_MOST];
    const __m256i zero = _mm256_set1_epi16(l->b_zero);
    const size_t depth = l->k - k0 < DEPTH_MOST ? l->k - k0 : DEPTH_MOST;
    for (size_t p = 0; p < depth; p += 2) {
        const uint8_t *even = l->b + (k0 + p) * l->b_row + j;
        const __m128i x = load_some(even, n);
        const __m128i y = load_some(p + 1 < depth ? even + l->b_row : even, n);
        panel[p] = widened(_mm_unpacklo_epi8(x, y), l->b_signed, zero);
        panel[p + 1] = widened(_mm_unpackhi_epi8(x, y), l->b_signed, zero);
    }
    size_t i = 0;
    for (; i + TILE_ROWS <= l->rows; i += TILE_ROWS)
        past_widened(l, panel, k0, depth, i, j, n, TILE_ROWS);
    for (; i + 2 <= l->rows; i += 2)
        past_widened(l, panel, k0, depth, i, j, n, 2);
    if (i < l->rows)
        past_widened(l, panel, k0, depth, i, j, n, 1);
}

static void columns(const struct ox_integer_lying *l, size_t j, size_t n)
{
    for (size_t k0 = 0; l->rows > ROWS_MOST && k0 < l->k; k0 += DEPTH_MOST)
        widened_columns(l, k0, j, n);
    if (l->rows > ROWS_MOST)
        return;
    size_t i = 0;
    for (; i + ROWS_MOST <= l->rows; i += ROWS_MOST)
        block(l, i, j, n, ROWS_MOST, 1);
    for (; i < l->rows; i++)
        block(l, i, j, n, 1, 1);
}

static void lying(const struct ox_integer_lying *l)
{
    enum { WIDE = 4 * WHOLE };
    size_t j = 0;
    for (; l->rows < ROWS_MOST && j + WIDE <= l->n; j += WIDE)
        for (size_t i = 0; i < l->rows; i++)
            block(l, i, j, WIDE, 1, 4);
    for (; j < l->n; j += WHOLE)
        columns(l, j, l->n - j < WHOLE ? l->n - j : WHOLE);
}

void ox_integer_lying_avx2(struct ox_integer *t)
{
    t->lying = lying;
    t->lying_most = 512;
}
