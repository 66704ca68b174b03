/* Rows of 8-bit codes, sixty-four at a time. */
#include <immintrin.h>
#include <math.h>

#include "kernels/bytes.h"

/* To each lane of the sum the products of its two words of x and f. */
#define dot_words(sum, x, f) _mm512_add_epi32((sum), _mm512_madd_epi16((x), (f)))
#include "kernels/x86/bytes_sum_avx512.h"

static inline __mmask16 part_of(__mmask64 mask, unsigned k)
{
    return (__mmask16)(mask >> (k * LANES));
}

/* Of sixteen neighbours. */
static inline __attribute__((always_inline)) __m512i bytes_of(const struct codes *c,
                                                              const __m512i *whole)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order,
                                    codes_in_order(c, whole[0], whole[1], whole[2], whole[3]));
}

/* What lies between x and the nearest whole number; and the larger of it and `most`, without signs. */
static inline __m512 larger_rest(__m512 most, __m512 x)
{
    return _mm512_range_ps(most, _mm512_reduce_ps(x, 0), 0x0b);
}

/* Multiplied by the reciprocal, which gives the quotient's integer but near a half. */
struct code {
    __m512 scale, inverse, lo, hi, margin;
    bool divides;
};

static inline __attribute__((always_inline)) __m512i quotients(const struct code *c, __m512 x,
                                                               const bool exact)
{
    const __m512 q = exact ? _mm512_div_ps(x, c->scale) : _mm512_mul_ps(x, c->inverse);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(q, c->lo), c->hi));
}

static inline __attribute__((always_inline)) void quantize_64(const float *x, const struct code *c,
                                                              const struct codes *codes,
                                                              __mmask64 mask, uint8_t *y)
{
    __m512 in[PARTS], rest = _mm512_setzero_ps();
    __m512i whole[PARTS];
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++) {
        in[k] = _mm512_maskz_loadu_ps(part_of(mask, k), x + k * LANES);
        whole[k] = quotients(c, in[k], false);
        rest = larger_rest(rest, _mm512_mul_ps(in[k], c->inverse));
    }
    if (__builtin_expect(c->divides | _mm512_cmp_ps_mask(rest, c->margin, _CMP_NLT_UQ), 0)) {
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++)
            whole[k] = quotients(c, in[k], true);
    }
    _mm512_mask_storeu_epi8(y, mask, bytes_of(codes, whole));
}

static void quantize(size_t n, const float *x, const struct ox_bytes_code *code, uint8_t *y)
{
    const float inverse = 1 / code->scale;
    const struct codes codes = codes_of(code->zero, code->lo, code->hi);
    const struct code c = {.scale = _mm512_set1_ps(code->scale),
                           .inverse = _mm512_set1_ps(inverse),
                           .lo = _mm512_set1_ps((float)(code->lo - code->zero)),
                           .hi = _mm512_set1_ps((float)(code->hi - code->zero)),
                           .margin = _mm512_set1_ps(0.5F - 0x1p-12F),
                           .divides = !isnormal(inverse) || !isnormal(code->scale)};
    size_t i = 0;
    for (; i + ALL <= n; i += ALL)
        quantize_64(x + i, &c, &codes, ~(__mmask64)0, y + i);
    if (i < n)
        quantize_64(x + i, &c, &codes, first(n - i), y + i);
}

static void dequantize(size_t n, const uint8_t *x, uint8_t flip, int32_t zero, float scale,
                       float *y)
{
    const __m512i less = _mm512_set1_epi32(zero);
    const __m512 by = _mm512_set1_ps(scale);
    const __m128i turn = _mm_set1_epi8((char)flip);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m128i code =
            _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(x + i)), turn);
        const __m512i whole = _mm512_sub_epi32(_mm512_cvtepu8_epi32(code), less);
        _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_cvtepi32_ps(whole), by));
    }
    if (i < n) {
        const __mmask16 mask = (__mmask16)first(n - i);
        const __m128i code = _mm_xor_si128(_mm_maskz_loadu_epi8(mask, x + i), turn);
        const __m512i whole = _mm512_sub_epi32(_mm512_cvtepu8_epi32(code), less);
        _mm512_mask_storeu_ps(y + i, mask, _mm512_mul_ps(_mm512_cvtepi32_ps(whole), by));
    }
}

/* ---- Products ----------------------------------------------------------------------------------------------------- */

struct product {
    __m512 a, b, c, margin;
    struct codes codes;
};

/* Codes as numbers: signed ones are 128 less than their flipped bits. */
static inline __attribute__((always_inline)) __m512 numbers(const uint8_t *x, __mmask16 mask,
                                                            const bool is_signed)
{
    const __m128i code = _mm_maskz_loadu_epi8(mask, x);
    return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(code) : _mm512_cvtepu8_epi32(code));
}

/* (u + a) * (v + b) * c */
static inline __attribute__((always_inline)) void
multiply_64(const uint8_t *a, const uint8_t *b, const struct product *p, __mmask64 mask, uint8_t *y,
            const struct ox_bytes_pair *pair, const bool is_signed)
{
    __m512 value[PARTS], rest = _mm512_setzero_ps();
    __m512i whole[PARTS];
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++) {
        const __m512 u = numbers(a + k * LANES, part_of(mask, k), is_signed);
        const __m512 v = numbers(b + k * LANES, part_of(mask, k), is_signed);
        value[k] =
            _mm512_mul_ps(_mm512_mul_ps(_mm512_add_ps(u, p->a), _mm512_add_ps(v, p->b)), p->c);
        rest = larger_rest(rest, value[k]);
        whole[k] = _mm512_cvtps_epi32(value[k]);
    }
    const __m512i bytes = bytes_of(&p->codes, whole);
    if (__builtin_expect(!_mm512_cmp_ps_mask(rest, p->margin, _CMP_NLT_UQ), 1)) {
        _mm512_mask_storeu_epi8(y, mask, bytes);
        return;
    }
    __mmask64 left = 0;
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++) {
        const __m512 own = larger_rest(_mm512_setzero_ps(), value[k]);
        left |= (__mmask64)_mm512_cmp_ps_mask(own, p->margin, _CMP_NLT_UQ) << (k * LANES);
    }
    uint8_t codes[ALL]; /* the result may lie where an operand does */
    _mm512_storeu_si512(codes, bytes);
    for (left &= mask; left; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        codes[i] = ox_bytes_multiply_one(a[i], b[i], pair);
    }
    _mm512_mask_storeu_epi8(y, mask, _mm512_loadu_si512(codes));
}

static inline __attribute__((always_inline)) void products(size_t n, const uint8_t *a,
                                                           const uint8_t *b,
                                                           const struct ox_bytes_pair *pair,
                                                           uint8_t *y, const bool is_signed)
{
    const float turned = is_signed ? 128 : 0;
    const float span = 65536 * fabsf(pair->scale_a);
    if (!(span < 0x1p16F)) { /* beyond it nothing is sure, and 32 bits may not hold it */
        for (size_t i = 0; i < n; i++)
            y[i] = ox_bytes_multiply_one(a[i], b[i], pair);
        return;
    }
    const struct product p = {.a = _mm512_set1_ps(turned - (float)pair->zero_a),
                              .b = _mm512_set1_ps(turned - (float)pair->zero_b),
                              .c = _mm512_set1_ps(pair->scale_a),
                              .margin = _mm512_set1_ps(0.5F - span * 0x1p-20F),
                              .codes = codes_of(pair->zero, pair->lo, pair->hi)};
    size_t i = 0;
    for (; i + ALL <= n; i += ALL)
        multiply_64(a + i, b + i, &p, ~(__mmask64)0, y + i, pair, is_signed);
    if (i < n)
        multiply_64(a + i, b + i, &p, first(n - i), y + i, pair, is_signed);
}

static void multiply(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                     uint8_t *y)
{
    if (pair->flip)
        products(n, a, b, pair, y, true);
    else
        products(n, a, b, pair, y, false);
}

static void greatest(size_t n, size_t rows, const uint8_t *const *x, uint8_t flip, uint8_t *y)
{
    for (size_t i = 0; i < n; i += ALL) {
        const __mmask64 mask = first(n - i);
        __m512i most = _mm512_maskz_loadu_epi8(mask, y + i);
        for (size_t k = 0; k < rows; k++) {
            const __m512i u = _mm512_maskz_loadu_epi8(mask, x[k] + i);
            most = flip ? _mm512_max_epi8(u, most) : _mm512_max_epu8(u, most);
        }
        _mm512_mask_storeu_epi8(y + i, mask, most);
    }
}

static inline __attribute__((always_inline)) void windows_of(size_t n_windows, size_t step,
                                                             size_t n, const size_t rows,
                                                             const uint8_t *const *x,
                                                             const bool is_signed, uint8_t *y)
{
    for (size_t w = 0, at = 0; w < n_windows; w++, at += step, y += n) {
        for (size_t i = 0; i < n; i += ALL) {
            const __mmask64 mask = first(n - i);
            __m512i most = _mm512_maskz_loadu_epi8(mask, x[0] + at + i);
#pragma GCC unroll 8
            for (size_t k = 1; k < rows; k++) {
                const __m512i u = _mm512_maskz_loadu_epi8(mask, x[k] + at + i);
                most = is_signed ? _mm512_max_epi8(u, most) : _mm512_max_epu8(u, most);
            }
            _mm512_mask_storeu_epi8(y + i, mask, most);
        }
    }
}

/* By the number of rows, which is mostly one of these. */
static void windows(size_t n_windows, size_t step, size_t n, size_t rows, const uint8_t *const *x,
                    uint8_t flip, uint8_t *y)
{
    if (flip)
        windows_of(n_windows, step, n, rows, x, true, y);
    else if (rows == 9)
        windows_of(n_windows, step, n, 9, x, false, y);
    else
        windows_of(n_windows, step, n, rows, x, false, y);
}

void ox_bytes_avx512(struct ox_bytes *t)
{
    t->quantize = quantize;
    t->dequantize = dequantize;
    t->add = add;
    t->add_rows = add_rows;
    t->multiply = multiply;
    t->greatest = greatest;
    t->windows = windows;
}
