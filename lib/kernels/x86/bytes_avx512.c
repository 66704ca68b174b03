/* Rows of 8-bit codes, sixty-four at a time. */
#include <immintrin.h>
#include <math.h>

#include "kernels/bytes.h"

enum { LANES = 16, PARTS = 4, ALL = LANES * PARTS };

static inline __mmask64 first(size_t n)
{
    return n < ALL ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
}

static inline __mmask16 part_of(__mmask64 mask, unsigned k)
{
    return (__mmask16)(mask >> (k * LANES));
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

static inline __attribute__((always_inline)) __m512i bytes_of(const struct codes *c,
                                                              const __m512i *whole)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i words = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), c->zero);
    const __m512i more = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), c->zero);
    __m512i bytes;
    if (c->is_signed)
        bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(words, more), c->lo), c->hi);
    else
        bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(words, more), c->lo), c->hi);
    return _mm512_permutexvar_epi32(order, bytes);
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
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 mask = (__mmask16)first(n - i);
        const __m128i code = _mm_xor_si128(_mm_maskz_loadu_epi8(mask, x + i), turn);
        const __m512i whole = _mm512_sub_epi32(_mm512_cvtepu8_epi32(code), less);
        _mm512_mask_storeu_ps(y + i, mask, _mm512_mul_ps(_mm512_cvtepi32_ps(whole), by));
    }
}

/* ---- Two operands ------------------------------------------------------------------------------------------------- */

struct pair {
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

/* Sums: u * a + v * b + c; products: (u + a) * (v + b) * c. */
static inline __attribute__((always_inline)) void
pairs_64(const uint8_t *a, const uint8_t *b, const struct pair *p, __mmask64 mask, uint8_t *y,
         const struct ox_bytes_pair *pair, const bool is_signed, const bool product)
{
    __m512 value[PARTS], rest = _mm512_setzero_ps();
    __m512i whole[PARTS];
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++) {
        const __m512 u = numbers(a + k * LANES, part_of(mask, k), is_signed);
        const __m512 v = numbers(b + k * LANES, part_of(mask, k), is_signed);
        if (product)
            value[k] =
                _mm512_mul_ps(_mm512_mul_ps(_mm512_add_ps(u, p->a), _mm512_add_ps(v, p->b)), p->c);
        else
            value[k] = _mm512_fmadd_ps(u, p->a, _mm512_fmadd_ps(v, p->b, p->c));
        rest = larger_rest(rest, value[k]);
        whole[k] = _mm512_cvtps_epi32(value[k]);
    }
    const __m512i bytes = bytes_of(&p->codes, whole);
    if (__builtin_expect(!_mm512_cmp_ps_mask(rest, p->margin, _CMP_NLT_UQ), 1)) {
        _mm512_mask_storeu_epi8(y, mask, bytes);
        return;
    }
    uint8_t codes[ALL]; /* the result may lie where an operand does */
    _mm512_storeu_si512(codes, bytes);
    for (unsigned k = 0; k < PARTS; k++) {
        const __m512 own = larger_rest(_mm512_setzero_ps(), value[k]);
        unsigned left = _mm512_cmp_ps_mask(own, p->margin, _CMP_NLT_UQ) & part_of(mask, k);
        for (; left; left &= left - 1) {
            const unsigned i = k * LANES + (unsigned)__builtin_ctz(left);
            codes[i] = product ? ox_bytes_multiply_one(a[i], b[i], pair)
                               : ox_bytes_add_one(a[i], b[i], pair);
        }
    }
    _mm512_mask_storeu_epi8(y, mask, _mm512_loadu_si512(codes));
}

static inline __attribute__((always_inline)) void
pairs(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair, uint8_t *y,
      const bool is_signed, const bool product)
{
    const float turned = is_signed ? 128 : 0;
    const float za = (float)pair->zero_a - turned, zb = (float)pair->zero_b - turned;
    const float sa = pair->scale_a, sb = pair->scale_b;
    const float span = product ? 65536 * fabsf(sa) : 256 * (fabsf(sa) + fabsf(sb));
    struct pair p = {.margin = _mm512_set1_ps(0.5F - span * 0x1p-20F),
                     .codes = codes_of(pair->zero, pair->lo, pair->hi)};
    if (!(span < 0x1p16F)) { /* beyond it nothing is sure, and 32 bits may not hold it */
        for (size_t i = 0; i < n; i++)
            y[i] = product ? ox_bytes_multiply_one(a[i], b[i], pair)
                           : ox_bytes_add_one(a[i], b[i], pair);
        return;
    }
    p.a = _mm512_set1_ps(product ? -za : sa);
    p.b = _mm512_set1_ps(product ? -zb : sb);
    p.c = _mm512_set1_ps(product ? sa : -(za * sa + zb * sb));
    size_t i = 0;
    for (; i + ALL <= n; i += ALL)
        pairs_64(a + i, b + i, &p, ~(__mmask64)0, y + i, pair, is_signed, product);
    if (i < n)
        pairs_64(a + i, b + i, &p, first(n - i), y + i, pair, is_signed, product);
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

/* Whole vectors without masks: what is stored under one cannot be handed to the next tap's load. */
static void greatest(size_t n, const uint8_t *x, uint8_t flip, uint8_t *y)
{
    size_t i = 0;
    for (; i + ALL <= n; i += ALL) {
        const __m512i u = _mm512_loadu_si512(x + i), v = _mm512_loadu_si512(y + i);
        _mm512_storeu_si512(y + i, flip ? _mm512_max_epi8(u, v) : _mm512_max_epu8(u, v));
    }
    if (i == n)
        return;
    const __mmask64 mask = first(n - i);
    const __m512i u = _mm512_maskz_loadu_epi8(mask, x + i);
    const __m512i v = _mm512_maskz_loadu_epi8(mask, y + i);
    _mm512_mask_storeu_epi8(y + i, mask, flip ? _mm512_max_epi8(u, v) : _mm512_max_epu8(u, v));
}

void ox_bytes_avx512(struct ox_bytes *t)
{
    t->quantize = quantize;
    t->dequantize = dequantize;
    t->add = add;
    t->multiply = multiply;
    t->greatest = greatest;
}
