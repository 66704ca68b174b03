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
    uint8_t codes[ALL]; /* the result may lie where an operand does */
    _mm512_storeu_si512(codes, bytes);
    for (unsigned k = 0; k < PARTS; k++) {
        const __m512 own = larger_rest(_mm512_setzero_ps(), value[k]);
        unsigned left = _mm512_cmp_ps_mask(own, p->margin, _CMP_NLT_UQ) & part_of(mask, k);
        for (; left; left &= left - 1) {
            const unsigned i = k * LANES + (unsigned)__builtin_ctz(left);
            codes[i] = ox_bytes_multiply_one(a[i], b[i], pair);
        }
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

/* ---- Sums --------------------------------------------------------------------------------------------------------- */

struct sum {
    __m512i high, low, start, fraction, unsure, turn;
    __m512i shift;
    struct codes codes;
};

/* The factors of a pair of words. */
static __m512i factors(int32_t a, int32_t b)
{
    return _mm512_set1_epi32((int32_t)(((uint32_t)b << 16) | ((uint32_t)a & 0xffff)));
}

static struct sum sum_of(const struct ox_bytes_pair *pair)
{
    enum { LOW = 1 << OX_BYTES_LOW_BITS };
    const int32_t a = (pair->by_a + LOW / 2) >> OX_BYTES_LOW_BITS;
    const int32_t b = (pair->by_b + LOW / 2) >> OX_BYTES_LOW_BITS;
    return (struct sum){.high = factors(a, b),
                        .low = factors(pair->by_a - a * LOW, pair->by_b - b * LOW),
                        .start = _mm512_set1_epi32(pair->start),
                        .fraction = _mm512_set1_epi32((1 << pair->bits) - 1),
                        .unsure = _mm512_set1_epi32(2 * OX_BYTES_UNSURE),
                        .turn = _mm512_set1_epi8((char)pair->flip),
                        .shift = _mm512_set1_epi32((int32_t)pair->bits),
                        .codes = codes_of(pair->zero + pair->middle, pair->lo, pair->hi)};
}

/* Of four neighbours in each sixteen, pairs of words. */
static inline __attribute__((always_inline)) __m512i sums_of(const struct sum *s, __m512i pairs)
{
    const __m512i high = _mm512_madd_epi16(_mm512_slli_epi16(pairs, OX_BYTES_LOW_BITS), s->high);
    const __m512i low = _mm512_madd_epi16(pairs, s->low);
    return _mm512_add_epi32(_mm512_add_epi32(high, s->start), low);
}

struct sums {
    __m512i a, b, c, d;
};

static inline __attribute__((always_inline)) struct sums
four_sums(const uint8_t *a, const uint8_t *b, const struct sum *s, __mmask64 mask)
{
    const __m512i u = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, a), s->turn);
    const __m512i v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, b), s->turn);
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
    const struct sums all = four_sums(a, b, s, mask);
    const __m512i sums[PARTS] = {all.a, all.b, all.c, all.d};
    uint8_t codes[ALL];
    _mm512_storeu_si512(codes, bytes);
    for (unsigned k = 0; k < PARTS; k++) {
        unsigned left = _mm512_cmple_epu32_mask(_mm512_and_si512(sums[k], s->fraction), s->unsure);
        for (; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left),
                           i = lane / 4 * 16 + 4 * k + lane % 4;
            if (mask >> i & 1)
                codes[i] = ox_bytes_add_one(a[i], b[i], pair);
        }
    }
    return _mm512_loadu_si512(codes);
}

static inline __attribute__((always_inline)) void add_64(const uint8_t *a, const uint8_t *b,
                                                         const struct sum *s, __mmask64 mask,
                                                         uint8_t *y,
                                                         const struct ox_bytes_pair *pair)
{
    const struct sums all = four_sums(a, b, s, mask);
    const __m512i rest = _mm512_min_epu32(_mm512_min_epu32(_mm512_and_si512(all.a, s->fraction),
                                                           _mm512_and_si512(all.b, s->fraction)),
                                          _mm512_min_epu32(_mm512_and_si512(all.c, s->fraction),
                                                           _mm512_and_si512(all.d, s->fraction)));
    __m512i bytes = codes_in_order(
        &s->codes, _mm512_srav_epi32(all.a, s->shift), _mm512_srav_epi32(all.b, s->shift),
        _mm512_srav_epi32(all.c, s->shift), _mm512_srav_epi32(all.d, s->shift));
    if (__builtin_expect(_mm512_cmple_epu32_mask(rest, s->unsure), 0))
        bytes = add_unsure(a, b, s, mask, pair, bytes);
    _mm512_mask_storeu_epi8(y, mask, bytes);
}

static void add(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                uint8_t *y)
{
    size_t i = 0;
    if (!pair->bits) {
        for (; i < n; i++)
            y[i] = ox_bytes_add_one(a[i], b[i], pair);
        return;
    }
    const struct sum s = sum_of(pair);
    for (; i + ALL <= n; i += ALL)
        add_64(a + i, b + i, &s, ~(__mmask64)0, y + i, pair);
    if (i < n)
        add_64(a + i, b + i, &s, first(n - i), y + i, pair);
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

void ox_bytes_avx512(struct ox_bytes *t)
{
    t->quantize = quantize;
    t->dequantize = dequantize;
    t->add = add;
    t->multiply = multiply;
    t->greatest = greatest;
}
