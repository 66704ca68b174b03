/* A row of bytes by columns of few bits, four at a time, each read from end to end: their sums come together only when a block ends. */
#include "kernels/x86/few_bits_row_avx2.h"

#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"

enum { COLS = 4, UNIT = 32 }; /* bytes of a step */

struct columns {
    const uint8_t *codes[COLS], *zeros[COLS];
    const float *scales[COLS];
};

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* Sixteen bytes, and none. */
INLINE __m256i load_half(const void *p)
{
    return _mm256_zextsi128_si256(_mm_loadu_si128(p));
}

/* Sums of pairs of 64 products by codes of 4 bits, those in even places with those in odd ones; `all` false: of 32, the rest 0. */
INLINE __m256i pairs_of_4(const uint8_t *w, const int8_t *a, const bool all)
{
    const __m256i low = _mm256_set1_epi8(15), x = all ? load(w) : load_half(w);
    const __m256i even = all ? load(a) : load_half(a), odd = all ? load(a + 32) : load_half(a + 16);
    return _mm256_add_epi16(
        _mm256_maddubs_epi16(_mm256_and_si256(x, low), even),
        _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(x, 4), low), odd));
}

/* Sums of four of 32 products by codes of 8 bits less 128; `all` false: of 16, the rest 0. */
INLINE __m256i fours_of_8(const uint8_t *w, const int8_t *a, const bool all)
{
    const __m256i x = _mm256_xor_si256(all ? load(w) : load_half(w), _mm256_set1_epi8(-128)),
                  y = all ? load(a) : load_half(a);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* Of each half of four vectors the sum. */
INLINE __m256i gather_halves(const __m256i x[COLS])
{
    return _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
}

/* The same of sums of pairs, of at most 128 products by 4 bits. */
INLINE __m256i gather_pairs(const __m256i x[COLS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i fours[COLS];
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++)
        fours[j] = _mm256_madd_epi16(x[j], ones);
    return _mm256_hadd_epi32(_mm256_madd_epi16(_mm256_packs_epi32(fours[0], fours[1]), ones),
                             _mm256_madd_epi16(_mm256_packs_epi32(fours[2], fours[3]), ones));
}

INLINE __m128 zeros_of(const struct columns *c, const unsigned bits, const bool zeros, size_t block)
{
    const float middle = bits == 4 ? 8 : 0;
    if (!zeros)
        return _mm_set1_ps(middle);
    const size_t at = block * bits / 8;
    __m128i x = _mm_setr_epi32(c->zeros[0][at], c->zeros[1][at], c->zeros[2][at], c->zeros[3][at]);
    if (bits == 4)
        x = _mm_and_si128(_mm_srli_epi32(x, (int)(block % 2 * 4)), _mm_set1_epi32(15));
    else
        x = _mm_sub_epi32(x, _mm_set1_epi32(128));
    return _mm_cvtepi32_ps(x);
}

struct at {
    const struct columns *c;
    const struct ox_byte_rows *a;
    size_t row;
    unsigned parts; /* a block of the weights is 2^parts of the row's */
};

/* *all += what block b of the row adds, by its sums. */
INLINE void end_block(const struct at *t, const unsigned bits, const bool zeros, size_t b,
                      __m128i sums, __m128 *all)
{
    const size_t block = b >> t->parts;
    const float *const *s = t->c->scales;
    const __m128 scale = _mm_setr_ps(s[0][block], s[1][block], s[2][block], s[3][block]),
                 of_row = _mm_broadcast_ss(t->a->scales + b * t->a->m + t->row),
                 sum = _mm_broadcast_ss(t->a->sums + b * t->a->m + t->row);
    *all =
        _mm_fmadd_ps(_mm_fnmadd_ps(zeros_of(t->c, bits, zeros, block), sum, _mm_cvtepi32_ps(sums)),
                     _mm_mul_ps(scale, of_row), *all);
}

INLINE __m128i both_halves(__m256i x)
{
    return _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

/* Blocks of 32, two at a time. */
INLINE __m128 by_short_blocks(const struct at *t, const bool zeros, const int8_t *a)
{
    __m128 all = _mm_setzero_ps();
    size_t b = 0;
    for (; b + 2 <= t->a->blocks; b += 2) {
        __m256i x[COLS];
#pragma GCC unroll 4
        for (int j = 0; j < COLS; j++)
            x[j] = pairs_of_4(t->c->codes[j] + b * 16, a + b * 32, true);
        const __m256i sums = gather_pairs(x);
        end_block(t, 4, zeros, b, _mm256_castsi256_si128(sums), &all);
        end_block(t, 4, zeros, b + 1, _mm256_extracti128_si256(sums, 1), &all);
    }
    if (b < t->a->blocks) {
        __m256i x[COLS];
        for (int j = 0; j < COLS; j++)
            x[j] = pairs_of_4(t->c->codes[j] + b * 16, a + b * 32, false);
        end_block(t, 4, zeros, b, _mm256_castsi256_si128(gather_pairs(x)), &all);
    }
    return all;
}

/* Of four blocks, a vector each: the scales of four columns. */
INLINE void scales_of_blocks(const struct columns *c, size_t block, __m128 out[4])
{
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++)
        out[j] = _mm_loadu_ps(c->scales[j] + block);
    _MM_TRANSPOSE4_PS(out[0], out[1], out[2], out[3]);
}

/* The same of their zeros of 8 bits, less 128, one a byte: block after block. */
INLINE __m128i zeros_of_blocks(const struct columns *c, size_t block)
{
    int32_t four[COLS];
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++)
        memcpy(&four[j], c->zeros[j] + block, sizeof four[j]);
    const __m128i turned =
        _mm_shuffle_epi8(_mm_setr_epi32(four[0], four[1], four[2], four[3]),
                         _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm_xor_si128(turned, _mm_set1_epi8(-128));
}

/* Blocks of 16 codes of 8 bits, four at a time. */
INLINE __m128 by_sixteens(const struct at *t, const bool zeros, const int8_t *a)
{
    __m128 all = _mm_setzero_ps();
    size_t b = 0;
    for (; b + 4 <= t->a->blocks; b += 4) {
        __m128 scales[4];
        __m128i zero = zeros ? zeros_of_blocks(t->c, b) : _mm_setzero_si128();
        scales_of_blocks(t->c, b, scales);
#pragma GCC unroll 2
        for (size_t u = 0; u < 4; u += 2) {
            __m256i x[COLS];
#pragma GCC unroll 4
            for (int j = 0; j < COLS; j++)
                x[j] = fours_of_8(t->c->codes[j] + (b + u) * 16, a + (b + u) * 16, true);
            const __m256i sums = gather_halves(x);
#pragma GCC unroll 2
            for (size_t h = 0; h < 2; h++) {
                const size_t at = (b + u + h) * t->a->m + t->row;
                const __m128 sum = _mm_cvtepi32_ps(h ? _mm256_extracti128_si256(sums, 1)
                                                     : _mm256_castsi256_si128(sums)),
                             less = _mm_cvtepi32_ps(_mm_cvtepi8_epi32(zero));
                all = _mm_fmadd_ps(_mm_fnmadd_ps(less, _mm_broadcast_ss(t->a->sums + at), sum),
                                   _mm_mul_ps(scales[u + h], _mm_broadcast_ss(t->a->scales + at)),
                                   all);
                zero = _mm_srli_si128(zero, 4);
            }
        }
    }
    for (; b < t->a->blocks; b++) {
        __m256i x[COLS];
        for (int j = 0; j < COLS; j++)
            x[j] = fours_of_8(t->c->codes[j] + b * 16, a + b * 16, false);
        end_block(t, 8, zeros, b, _mm256_castsi256_si128(gather_halves(x)), &all);
    }
    return all;
}

/* Blocks of so many units. */
INLINE __m128 by_blocks(const struct at *t, const unsigned bits, const bool zeros, const int8_t *a,
                        const size_t units)
{
    size_t from = 0; /* byte of the columns */
    __m128 all = _mm_setzero_ps();
    for (size_t b = 0; b < t->a->blocks; b++) {
        __m256i x[COLS] = {0};
        for (size_t u = 0; u < units; u++, from += UNIT, a += UNIT * 8 / bits) {
#pragma GCC unroll 4
            for (int j = 0; j < COLS; j++) {
                const uint8_t *w = t->c->codes[j] + from;
                x[j] = bits == 4 ? _mm256_add_epi16(x[j], pairs_of_4(w, a, true))
                                 : _mm256_add_epi32(x[j], fours_of_8(w, a, true));
            }
        }
        end_block(t, bits, zeros, b, both_halves(bits == 4 ? gather_pairs(x) : gather_halves(x)),
                  &all);
    }
    return all;
}

INLINE __m128 dot(const struct at *t, const unsigned bits, const bool zeros)
{
    const int8_t *a = t->a->codes + t->row * t->a->k;
    if (bits == 4 && t->a->block == 32)
        return by_short_blocks(t, zeros, a);
    if (bits == 8 && t->a->block == 16)
        return by_sixteens(t, zeros, a);
    const size_t units = t->a->block * bits / 8 / UNIT;
    if (units == 1)
        return by_blocks(t, bits, zeros, a, 1);
    return by_blocks(t, bits, zeros, a, units);
}

static __m128 dot_4(const struct at *t)
{
    return dot(t, 4, false);
}

static __m128 dot_4_zeros(const struct at *t)
{
    return dot(t, 4, true);
}

static __m128 dot_8(const struct at *t)
{
    return dot(t, 8, false);
}

static __m128 dot_8_zeros(const struct at *t)
{
    return dot(t, 8, true);
}

void ox_few_bits_row_avx2(const struct ox_few_bits *w, size_t first, size_t n,
                          const struct ox_byte_rows *a, float *c, size_t ldc)
{
    const unsigned parts = (unsigned)__builtin_ctzll(w->block / a->block);
    for (size_t j = 0; j < n; j += COLS) {
        const size_t cols = n - j < COLS ? n - j : COLS;
        struct columns columns;
        for (size_t i = 0; i < COLS; i++) {
            const size_t column = first + j + (i < cols ? i : cols - 1);
            columns.codes[i] = w->codes + column * (w->k * w->bits / 8);
            columns.scales[i] = w->scales + column * w->blocks;
            columns.zeros[i] = w->zeros ? w->zeros + column * w->zero_bytes : NULL;
        }
        for (size_t row = 0; row < a->m; row++) {
            const struct at t = {&columns, a, row, parts};
            const __m128 y = w->bits == 4 ? w->zeros ? dot_4_zeros(&t) : dot_4(&t)
                             : w->zeros ? dot_8_zeros(&t)
                                          : dot_8(&t);
            float sums[COLS];
            _mm_storeu_ps(sums, y);
            memcpy(c + row * ldc + j, sums, cols * sizeof *c);
        }
    }
}
