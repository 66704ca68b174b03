#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kernels/bytes.h"
#include "kernels/x86/integer_end_avx2.h"

static inline __m256i eight_wide(const uint8_t *x, __m256i flip)
{
    const __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)x);
    return _mm256_xor_si256(_mm256_cvtepu8_epi32(eight), flip);
}

/* The low bytes of four vectors of 32-bit numbers, in order. */
static inline __m256i join(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i low = _mm256_set1_epi32(0xff);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i ab = _mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
    const __m256i cd = _mm256_packus_epi32(_mm256_and_si256(c, low), _mm256_and_si256(d, low));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
}

static inline void store(uint8_t *y, __m256i bytes)
{
    _mm256_storeu_si256((__m256i *)(void *)y, bytes);
}

struct code {
    __m256 scale, lo, hi;
    __m256i zero;
};

static inline __m256i eight_codes(const float *x, const struct code *c)
{
    const __m256 q = _mm256_div_ps(_mm256_loadu_ps(x), c->scale);
    const __m256 within = _mm256_min_ps(_mm256_max_ps(q, c->lo), c->hi);
    return _mm256_add_epi32(_mm256_cvtps_epi32(within), c->zero);
}

static void quantize(size_t n, const float *x, const struct ox_bytes_code *code, uint8_t *y)
{
    const struct code c = {
        _mm256_set1_ps(code->scale), _mm256_set1_ps((float)(code->lo - code->zero)),
        _mm256_set1_ps((float)(code->hi - code->zero)), _mm256_set1_epi32(code->zero)};
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        store(y + i, join(eight_codes(x + i, &c), eight_codes(x + i + 8, &c),
                          eight_codes(x + i + 16, &c), eight_codes(x + i + 24, &c)));
    for (; i < n; i += 8) {
        const size_t left = n - i < 8 ? n - i : 8;
        float part[8] = {0};
        int32_t out[8];
        memcpy(part, x + i, left * sizeof *part);
        _mm256_storeu_si256((__m256i *)(void *)out, eight_codes(part, &c));
        for (size_t k = 0; k < left; k++)
            y[i + k] = (uint8_t)out[k];
    }
}

static void dequantize(size_t n, const uint8_t *x, uint8_t flip, int32_t zero, float scale,
                       float *y)
{
    const __m256i turn = _mm256_set1_epi32(flip), less = _mm256_set1_epi32(zero);
    const __m256 by = _mm256_set1_ps(scale);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i whole = _mm256_sub_epi32(eight_wide(x + i, turn), less);
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_cvtepi32_ps(whole), by));
    }
    for (; i < n; i++)
        y[i] = (float)((int32_t)(x[i] ^ flip) - zero) * scale;
}

static void range(size_t n, const float *x, float *lo, float *hi)
{
    __m256 low[4], high[4];
    for (unsigned k = 0; k < 4; k++) {
        low[k] = _mm256_set1_ps(*lo);
        high[k] = _mm256_set1_ps(*hi);
    }
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        for (unsigned k = 0; k < 4; k++) { /* NaN in the first operand gives the second */
            const __m256 v = _mm256_loadu_ps(x + i + k * 8);
            low[k] = _mm256_min_ps(v, low[k]);
            high[k] = _mm256_max_ps(v, high[k]);
        }
    }
    float l[8], h[8];
    _mm256_storeu_ps(l,
                     _mm256_min_ps(_mm256_min_ps(low[0], low[1]), _mm256_min_ps(low[2], low[3])));
    _mm256_storeu_ps(
        h, _mm256_max_ps(_mm256_max_ps(high[0], high[1]), _mm256_max_ps(high[2], high[3])));
    for (unsigned k = 1; k < 8; k++) {
        l[0] = l[k] < l[0] ? l[k] : l[0];
        h[0] = h[k] > h[0] ? h[k] : h[0];
    }
    for (; i < n; i++) {
        l[0] = x[i] < l[0] ? x[i] : l[0];
        h[0] = x[i] > h[0] ? x[i] : h[0];
    }
    *lo = l[0];
    *hi = h[0];
}

/* Of two tables of sixteen entries that are asked the one that the code's bit chooses, which is the top one in `bit`. */
static inline __m256i look_up_two(const __m256i *part, __m256i low, __m256i bit)
{
    return _mm256_blendv_epi8(_mm256_shuffle_epi8(part[0], low), _mm256_shuffle_epi8(part[1], low),
                              bit);
}

static inline __m256i look_up_four(const __m256i *part, __m256i low, __m256i at)
{
    const __m256i bit_4 = _mm256_slli_epi16(at, 3), bit_5 = _mm256_slli_epi16(at, 2);
    return _mm256_blendv_epi8(look_up_two(part, low, bit_4), look_up_two(part + 2, low, bit_4),
                              bit_5);
}

static inline __m256i look_up_eight(const __m256i *part, __m256i low, __m256i at)
{
    return _mm256_blendv_epi8(look_up_four(part, low, at), look_up_four(part + 4, low, at),
                              _mm256_slli_epi16(at, 1));
}

static inline void load_table(const uint8_t table[256], __m256i part[16])
{
    for (unsigned k = 0; k < 16; k++)
        part[k] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)(table + k * 16)));
}

static inline void look_up_row(size_t n, const uint8_t *x, const __m256i *part,
                               const uint8_t table[256], uint8_t *y)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        const __m256i low = _mm256_and_si256(at, _mm256_set1_epi8(15));
        store(y + i, _mm256_blendv_epi8(look_up_eight(part, low, at),
                                        look_up_eight(part + 8, low, at), at));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}

static void look_up(size_t n, const uint8_t *x, const uint8_t table[256], uint8_t *y)
{
    __m256i part[16];
    load_table(table, part);
    look_up_row(n, x, part, table, y);
}

static void look_up_rows(size_t rows, size_t n, size_t step, const uint8_t table[256], uint8_t *y)
{
    __m256i part[16];
    load_table(table, part);
    for (; rows > 0; rows--, y += step)
        look_up_row(n, y, part, table, y);
}

struct pair {
    __m256 a, b, c, margin;
    struct ends ends;
};

/* Codes as numbers: signed ones are 128 less than their flipped bits. */
static inline __attribute__((always_inline)) __m256 numbers(const uint8_t *x, const bool is_signed)
{
    const __m128i code = _mm_loadl_epi64((const __m128i *)(const void *)x);
    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(code) : _mm256_cvtepu8_epi32(code));
}

/* Thirty-two results. Sums: u * a + v * b + c; products: (u + a) * (v + b) * c. Where a half is near the exact rule decides. */
static inline __attribute__((always_inline)) void pairs_32(const uint8_t *a, const uint8_t *b,
                                                           const struct pair *p, uint8_t *y,
                                                           const struct ox_bytes_pair *pair,
                                                           const bool is_signed, const bool product)
{
    __m256 rest[4], most = _mm256_setzero_ps();
    __m256i whole[4];
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256 u = numbers(a + k * 8, is_signed), v = numbers(b + k * 8, is_signed);
        const __m256 value =
            product
                ? _mm256_mul_ps(_mm256_mul_ps(_mm256_add_ps(u, p->a), _mm256_add_ps(v, p->b)), p->c)
                : _mm256_fmadd_ps(u, p->a, _mm256_fmadd_ps(v, p->b, p->c));
        const __m256 moved = _mm256_add_ps(value, p->ends.whole);
        const __m256 off = _mm256_sub_ps(value, _mm256_sub_ps(moved, p->ends.whole));
        rest[k] = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), off);
        most = _mm256_max_ps(most, rest[k]);
        whole[k] = _mm256_sub_epi32(_mm256_castps_si256(moved), p->ends.less);
    }
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(bytes_of(&p->ends, whole), order);
    if (__builtin_expect(!_mm256_movemask_ps(_mm256_cmp_ps(most, p->margin, _CMP_NLT_UQ)), 1)) {
        store(y, bytes);
        return;
    }
    uint8_t codes[32]; /* the result may lie where an operand does */
    store(codes, bytes);
    for (unsigned k = 0; k < 4; k++) {
        unsigned left =
            (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(rest[k], p->margin, _CMP_NLT_UQ));
        for (; left; left &= left - 1) {
            const unsigned i = k * 8 + (unsigned)__builtin_ctz(left);
            codes[i] = product ? ox_bytes_multiply_one(a[i], b[i], pair)
                               : ox_bytes_add_one(a[i], b[i], pair);
        }
    }
    memcpy(y, codes, sizeof codes);
}

static inline __attribute__((always_inline)) void
pairs(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair, uint8_t *y,
      const bool is_signed, const bool product)
{
    const float turned = is_signed ? 128 : 0;
    const float za = (float)pair->zero_a - turned, zb = (float)pair->zero_b - turned;
    const float sa = pair->scale_a, sb = pair->scale_b;
    const float span = product ? 65536 * fabsf(sa) : 256 * (fabsf(sa) + fabsf(sb));
    const bool exact = !product && pair->bits && pair->exact; /* in floats too */
    const struct ox_integer_end end = {.type = is_signed ? OX_INTEGER_S8 : OX_INTEGER_U8,
                                       .zero = pair->zero,
                                       .lo = pair->lo,
                                       .hi = pair->hi};
    const struct pair p = {.a = _mm256_set1_ps(product ? -za : sa),
                           .b = _mm256_set1_ps(product ? -zb : sb),
                           .c = _mm256_set1_ps(product ? sa : -(za * sa + zb * sb)),
                           .margin = _mm256_set1_ps(exact ? 1 : 0.5f - span * 0x1p-20f),
                           .ends = ends_of(&end)};
    size_t i = 0;
    for (; span < 0x1p16f && i + 32 <= n; i += 32) /* beyond it nothing is sure */
        pairs_32(a + i, b + i, &p, y + i, pair, is_signed, product);
    for (; i < n; i++)
        y[i] =
            product ? ox_bytes_multiply_one(a[i], b[i], pair) : ox_bytes_add_one(a[i], b[i], pair);
}

static void add(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                uint8_t *y)
{
    if (pair->flip)
        pairs(n, a, b, pair, y, true, false);
    else
        pairs(n, a, b, pair, y, false, false);
}

static void multiply(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                     uint8_t *y)
{
    if (pair->flip)
        pairs(n, a, b, pair, y, true, true);
    else
        pairs(n, a, b, pair, y, false, true);
}

static inline void greatest_32(size_t at, size_t rows, const uint8_t *const *x, bool is_signed,
                               uint8_t *y)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(y + at));
    for (size_t k = 0; k < rows; k++) {
        const __m256i u = _mm256_loadu_si256((const __m256i *)(const void *)(x[k] + at));
        v = is_signed ? _mm256_max_epi8(u, v) : _mm256_max_epu8(u, v);
    }
    store(y + at, v);
}

static inline void greatest_16(size_t at, size_t rows, const uint8_t *const *x, bool is_signed,
                               uint8_t *y)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(y + at));
    for (size_t k = 0; k < rows; k++) {
        const __m128i u = _mm_loadu_si128((const __m128i *)(const void *)(x[k] + at));
        v = is_signed ? _mm_max_epi8(u, v) : _mm_max_epu8(u, v);
    }
    _mm_storeu_si128((__m128i *)(void *)(y + at), v);
}

static inline void greatest_8(size_t at, size_t rows, const uint8_t *const *x, bool is_signed,
                              uint8_t *y)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)(y + at));
    for (size_t k = 0; k < rows; k++) {
        const __m128i u = _mm_loadl_epi64((const __m128i *)(const void *)(x[k] + at));
        v = is_signed ? _mm_max_epi8(u, v) : _mm_max_epu8(u, v);
    }
    _mm_storel_epi64((__m128i *)(void *)(y + at), v);
}

/* What is compared twice stays as it is: the last vector ends where the row does. */
static void greatest(size_t n, size_t rows, const uint8_t *const *x, uint8_t flip, uint8_t *y)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        greatest_32(i, rows, x, flip, y);
    if (i < n && n >= 32) {
        greatest_32(n - 32, rows, x, flip, y);
        return;
    }
    if (n - i >= 16) {
        greatest_16(0, rows, x, flip, y);
        greatest_16(n - 16, rows, x, flip, y);
        return;
    }
    if (n - i >= 8) {
        greatest_8(0, rows, x, flip, y);
        greatest_8(n - 8, rows, x, flip, y);
        return;
    }
    for (; i < n; i++)
        for (size_t k = 0; k < rows; k++)
            y[i] = (x[k][i] ^ flip) > (y[i] ^ flip) ? x[k][i] : y[i];
}

static inline __m256i vector_at(const uint8_t *x)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

static inline __attribute__((always_inline)) void windows_of(size_t n_windows, size_t step,
                                                             size_t n, size_t rows,
                                                             const uint8_t *const *x,
                                                             const bool is_signed, uint8_t *y)
{
    for (size_t w = 0, at = 0; w < n_windows; w++, at += step, y += n) {
        for (size_t i = 0;; i = i + 32 < n - 32 ? i + 32 : n - 32) {
            __m256i most = vector_at(x[0] + at + i);
            for (size_t k = 1; k < rows; k++) {
                const __m256i u = vector_at(x[k] + at + i);
                most = is_signed ? _mm256_max_epi8(u, most) : _mm256_max_epu8(u, most);
            }
            _mm256_storeu_si256((__m256i *)(void *)(y + i), most);
            if (i + 32 >= n)
                break;
        }
    }
}

static void windows(size_t n_windows, size_t step, size_t n, size_t rows, const uint8_t *const *x,
                    uint8_t flip, uint8_t *y)
{
    if (flip)
        windows_of(n_windows, step, n, rows, x, true, y);
    else
        windows_of(n_windows, step, n, rows, x, false, y);
}

static inline void add_wide(__m128i words, int32_t *y)
{
    __m256i *at = (__m256i *)(void *)y;
    _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_cvtepu16_epi32(words)));
}

/* Of 32 columns, in words; rows <= WORD_ROWS. */
enum { WORD_ROWS = 256 };

static inline void accumulate_32(size_t rows, size_t step, const uint8_t *x, __m256i turn,
                                 int32_t *y)
{
    const __m256i none = _mm256_setzero_si256();
    __m256i low = none, high = none;
    for (size_t k = 0; k < rows; k++, x += step) {
        const __m256i u =
            _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)x), turn);
        low = _mm256_add_epi16(low, _mm256_unpacklo_epi8(u, none));
        high = _mm256_add_epi16(high, _mm256_unpackhi_epi8(u, none));
    }
    add_wide(_mm256_castsi256_si128(low), y);
    add_wide(_mm256_castsi256_si128(high), y + 8);
    add_wide(_mm256_extracti128_si256(low, 1), y + 16);
    add_wide(_mm256_extracti128_si256(high, 1), y + 24);
}

static inline void accumulate_8(size_t rows, size_t step, const uint8_t *x, __m128i turn,
                                int32_t *y)
{
    __m128i words = _mm_setzero_si128();
    for (size_t k = 0; k < rows; k++, x += step) {
        const __m128i u = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)x), turn);
        words = _mm_add_epi16(words, _mm_cvtepu8_epi16(u));
    }
    add_wide(words, y);
}

static void accumulate(size_t n, size_t rows, size_t step, const uint8_t *x, uint8_t flip,
                       int32_t *y)
{
    const __m256i turn = _mm256_set1_epi8((char)flip);
    while (rows > 0) {
        const size_t some = rows < WORD_ROWS ? rows : WORD_ROWS;
        size_t i = 0;
        for (; i + 32 <= n; i += 32)
            accumulate_32(some, step, x + i, turn, y + i);
        for (; i + 8 <= n; i += 8)
            accumulate_8(some, step, x + i, _mm256_castsi256_si128(turn), y + i);
        for (; i < n; i++)
            for (size_t k = 0; k < some; k++)
                y[i] += x[k * step + i] ^ flip;
        rows -= some;
        x += some * step;
    }
}

static int32_t sum(size_t n, const uint8_t *x, uint8_t flip)
{
    const __m256i turn = _mm256_set1_epi8((char)flip), none = _mm256_setzero_si256();
    __m256i sums[2] = {none, none};
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (unsigned k = 0; k < 2; k++) {
            const __m256i u = _mm256_loadu_si256((const __m256i *)(const void *)(x + i + 32 * k));
            sums[k] = _mm256_add_epi64(sums[k], _mm256_sad_epu8(_mm256_xor_si256(u, turn), none));
        }
    const __m256i both = _mm256_add_epi64(sums[0], sums[1]);
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    uint32_t all = (uint32_t)(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
    for (; i < n; i++)
        all += x[i] ^ flip;
    return (int32_t)all;
}

void ox_bytes_avx2(struct ox_bytes *t)
{
    t->quantize = quantize;
    t->dequantize = dequantize;
    t->range = range;
    t->look_up = look_up;
    t->look_up_rows = look_up_rows;
    t->add = add;
    t->multiply = multiply;
    t->greatest = greatest;
    t->windows = windows;
    t->accumulate = accumulate;
    t->sum = sum;
    ox_bytes_turn_avx2(t);
}
