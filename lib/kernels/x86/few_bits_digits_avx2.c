/* Products of few_bits.h by rows of three digits, codes of 4 bits alone: their products by bytes are added in pairs of 16 bits, which hold
 * them. A step is two vectors. */
#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/few_bits_digits.h"
#include "kernels/inline.h"

enum {
    HALF = OX_DIGITS_STEP / 2, /* bytes of a vector */
    LANES = OX_DIGITS_LANES / 2,
    STEP = OX_DIGITS_STEP,
    WIDE = 2 * STEP, /* numbers of a step */
    COLS = 2,
    ROWS = 2
};

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* Each half of two vectors of packs as one that has them in order. */
INLINE __m256i in_order(__m256i x)
{
    return _mm256_permute4x64_epi64(x, 0xd8);
}

/* The lowest bytes of 32 numbers, as such, and what is left of each. */
INLINE __m256i take_digit(__m256i value[4])
{
    __m256i low[4];
    for (unsigned i = 0; i < 4; i++) {
        low[i] = _mm256_srai_epi32(_mm256_slli_epi32(value[i], 24), 24);
        value[i] = _mm256_srai_epi32(_mm256_add_epi32(value[i], _mm256_set1_epi32(128)), 8);
    }
    const __m256i a = in_order(_mm256_packs_epi32(low[0], low[1])),
                  b = in_order(_mm256_packs_epi32(low[2], low[3]));
    return in_order(_mm256_packs_epi16(a, b));
}

/* Of 32 bytes those in even places, and those in odd ones. */
INLINE void part_bytes(__m256i bytes, int8_t *even, int8_t *odd)
{
    const __m256i low = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8),
                  parts = in_order(_mm256_packs_epi16(low, _mm256_srai_epi16(bytes, 8)));
    _mm_store_si128((__m128i *)(void *)even, _mm256_castsi256_si128(parts));
    _mm_store_si128((__m128i *)(void *)odd, _mm256_extracti128_si256(parts, 1));
}

INLINE bool scale_block(const float *x, size_t n, float *scale, float *inverse)
{
    const float top = (float)ox_digits_most(OX_DIGITS);
    __m256i bits = _mm256_setzero_si256();
    for (size_t p = 0; p < n; p += LANES)
        bits = _mm256_max_epi32(
            bits, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(x + p)),
                                   _mm256_set1_epi32(INT32_MAX)));
    int32_t each[LANES], most = 0;
    float value;
    _mm256_storeu_si256((__m256i *)(void *)each, bits);
    for (unsigned i = 0; i < LANES; i++)
        most = each[i] > most ? each[i] : most;
    memcpy(&value, &most, sizeof value);
    *scale = value / top;
    *inverse = most ? top / value : 0;
    return most < 0x7f800000 && (!most || *scale >= FLT_MIN);
}

INLINE struct ox_digits_end *end_of(char *record)
{
    return (struct ox_digits_end *)(void *)(record + 2 * OX_DIGITS * STEP);
}

/* 32 numbers become digits, in place `at` of their step. */
INLINE void put(char *record, size_t at, const float *x, float inverse, float scale)
{
    __m256i value[4];
    for (unsigned i = 0; i < 4; i++)
        value[i] = _mm256_cvtps_epi32(
            _mm256_mul_ps(_mm256_loadu_ps(x + i * LANES), _mm256_set1_ps(inverse)));
    for (unsigned i = 0; i < OX_DIGITS; i++) {
        int8_t *even = (int8_t *)record + i * STEP + at / 2;
        part_bytes(take_digit(value), even, even + OX_DIGITS * STEP);
    }
    for (unsigned i = 0; i < 4; i++)
        end_of(record)->scales[at / 8 + i] = scale;
}

/* By lanes, what bytes that meet the digits of half a step sum up to: even ones those in even places. */
INLINE __m256i meet(const char *record, unsigned half, __m256i even, __m256i odd)
{
    const __m256i wide = _mm256_set1_epi16(1);
    __m256i all = _mm256_setzero_si256();
#pragma GCC unroll 3
    for (unsigned i = OX_DIGITS; i-- > 0;) {
        const char *digits = record + i * STEP + half * HALF;
        const __m256i pairs = _mm256_add_epi16(
            _mm256_maddubs_epi16(even, _mm256_load_si256((const __m256i *)(const void *)digits)),
            _mm256_maddubs_epi16(
                odd,
                _mm256_load_si256((const __m256i *)(const void *)(digits + OX_DIGITS * STEP))));
        all = _mm256_add_epi32(_mm256_slli_epi32(all, 8), _mm256_madd_epi16(pairs, wide));
    }
    return all;
}

/* Sums of four bytes, of both parts, less than nothing. */
static void sum_digits(char *record, int32_t zero)
{
    const __m256i ones = _mm256_set1_epi8(1);
    for (unsigned half = 0; half < 2; half++) {
        const __m256i all = meet(record, half, ones, ones);
        struct ox_digits_end *end = end_of(record);
        _mm256_store_si256((__m256i *)(void *)(end->low + half * LANES),
                           _mm256_mullo_epi32(all, _mm256_set1_epi32(-zero)));
        _mm256_store_si256((__m256i *)(void *)(end->high + half * LANES), _mm256_setzero_si256());
    }
}

static bool quantize(const struct ox_few_bits *w, const struct ox_digit_rows *a, const float *x,
                     size_t row)
{
    if (w->k % WIDE)
        memset(ox_digits_record(a, row, a->steps - 1), 0, a->record);
    for (size_t b = 0; b < w->blocks; b++) {
        float scale, inverse;
        if (!scale_block(x + b * w->block, w->block, &scale, &inverse))
            return false;
        for (size_t p = b * w->block; p < (b + 1) * w->block; p += HALF)
            put(ox_digits_record(a, row, p / WIDE), p % WIDE, x + p, inverse, scale);
    }
    for (size_t step = 0; step < a->steps; step++)
        sum_digits(ox_digits_record(a, row, step), w->zeros ? 1 : 8);
    return true;
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */

/* By lanes, of blocks of 16 bytes two. */
INLINE __m256 scales_of(const struct ox_few_bits *w, size_t column, size_t byte)
{
    const float *scales = w->scales + column * w->blocks + 2 * byte / w->block;
    return w->block == HALF ? _mm256_set_m128(_mm_set1_ps(scales[1]), _mm_set1_ps(scales[0]))
                            : _mm256_set1_ps(scales[0]);
}

INLINE __m256i zeros_of(const struct ox_few_bits *w, size_t column, size_t byte)
{
    const size_t block = 2 * byte / w->block;
    const uint8_t *zeros = w->zeros + column * w->zero_bytes;
    const int32_t zero = zeros[block / 2] >> block % 2 * 4 & 15;
    if (w->block != HALF)
        return _mm256_set1_epi32(zero);
    return _mm256_set_m128i(_mm_set1_epi32(zeros[block / 2] >> 4), _mm_set1_epi32(zero));
}

/* The sum of half a step's products by lanes, without their scales of weights; `record` of the half. */
INLINE __m256 half_sum(const char *record, unsigned half, __m256i even, __m256i odd,
                       const bool zeros, __m256i zero)
{
    const struct ox_digits_end *end =
        (const struct ox_digits_end *)(const void *)(record + 2 * OX_DIGITS * STEP);
    const __m256i low = _mm256_load_si256((const __m256i *)(const void *)(end->low + half * LANES));
    const __m256i all = _mm256_add_epi32(meet(record, half, even, odd),
                                         zeros ? _mm256_mullo_epi32(low, zero) : low);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(all), _mm256_load_ps(end->scales + half * LANES));
}

/* Halves are added to halves, as all levels do it. */
INLINE float sum_of(__m256 low, __m256 high)
{
    const __m256 a = _mm256_add_ps(low, high);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}

/* Sixteen bytes, where a column ends with them, and zeros. */
INLINE __m256i load_codes(const uint8_t *from, size_t left)
{
    return left < HALF
               ? _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from))
               : _mm256_loadu_si256((const __m256i *)(const void *)from);
}

INLINE void dot_columns(const struct ox_few_bits *w, const bool zeros, size_t column,
                        const unsigned cols, const struct ox_digit_rows *a, size_t row,
                        const unsigned rows, float *c, size_t ldc)
{
    const size_t bytes = w->k / 2;
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256 sum[COLS][ROWS][2];
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 2
        for (unsigned i = 0; i < rows; i++)
            sum[j][i][0] = sum[j][i][1] = _mm256_setzero_ps();
    for (size_t at = 0; at < bytes; at += STEP) {
        const char *record = ox_digits_record(a, row, at / STEP);
#pragma GCC unroll 2
        for (unsigned half = 0; half < 2; half++) {
            const size_t byte = at + half * HALF;
            if (byte >= bytes)
                break;
#pragma GCC unroll 2
            for (unsigned j = 0; j < cols; j++) {
                const uint8_t *from = w->codes + (column + j) * bytes + byte;
                const __m256i codes = load_codes(from, bytes - byte);
                const __m256i even = _mm256_and_si256(codes, nibble),
                              odd = _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble);
                const bool lone = bytes - byte < HALF; /* of two blocks there is one */
                const __m256 scale =
                    lone ? _mm256_set1_ps(w->scales[(column + j + 1) * w->blocks - 1])
                         : scales_of(w, column + j, byte);
                const __m256i zero = zeros ? zeros_of(w, column + j, byte) : nibble;
#pragma GCC unroll 2
                for (unsigned i = 0; i < rows; i++)
                    sum[j][i][half] = _mm256_fmadd_ps(
                        half_sum(record + i * a->record, half, even, odd, zeros, zero), scale,
                        sum[j][i][half]);
            }
        }
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 2
        for (unsigned i = 0; i < rows; i++)
            c[(row + i) * ldc + j] = sum_of(sum[j][i][0], sum[j][i][1]);
}

INLINE void dot_rows(const struct ox_few_bits *w, const bool zeros, size_t first, size_t n,
                     const struct ox_digit_rows *a, size_t row, const unsigned rows, float *c,
                     size_t ldc)
{
    size_t j = 0;
    for (; j + COLS <= n; j += COLS)
        dot_columns(w, zeros, first + j, COLS, a, row, rows, c + j, ldc);
    for (; j < n; j++)
        dot_columns(w, zeros, first + j, 1, a, row, rows, c + j, ldc);
}

static void dots(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_digit_rows *a,
                 float *c, size_t ldc)
{
    size_t row = 0;
    for (; row + ROWS <= a->m; row += ROWS) {
        if (w->zeros)
            dot_rows(w, true, first, n, a, row, ROWS, c, ldc);
        else
            dot_rows(w, false, first, n, a, row, ROWS, c, ldc);
    }
    if (row < a->m && w->zeros)
        dot_rows(w, true, first, n, a, row, 1, c, ldc);
    else if (row < a->m)
        dot_rows(w, false, first, n, a, row, 1, c, ldc);
}

const struct ox_few_digits ox_few_digits_avx2 = {.rows = 1, .quantize = quantize, .dots = dots};
