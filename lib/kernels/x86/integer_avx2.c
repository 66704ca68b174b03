#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

#define IV __m256i
#define IR 6
enum { IW = 8 };
#define iv_zero() _mm256_setzero_si256()
#define iv_set(x) _mm256_set1_epi32(x)
#define iv_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define iv_store(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (v))

#define iv_dot(sum, x, b) _mm256_add_epi32((sum), _mm256_madd_epi16((x), (b)))

#define iv_tight(sum, x, b) iv_dot((sum), _mm256_maddubs_epi16((x), (b)), _mm256_set1_epi16(1))

#include "kernels/integer_tmpl.h"

static inline __m256i sixteen_words(const uint8_t *p, __m128i flip)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip));
}

static void widen(size_t n, const uint8_t *x, uint8_t flip, uint16_t *y)
{
    const __m128i turn = _mm_set1_epi8((char)flip);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        iv_store(y + i, sixteen_words(x + i, turn));
    for (; i < n; i++)
        y[i] = x[i] ^ flip;
}

static int32_t sum_bytes(size_t n, const uint8_t *x, uint8_t flip)
{
    const __m256i turn = _mm256_set1_epi8((char)flip), zero = _mm256_setzero_si256();
    __m256i sum = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_xor_si256(iv_load(x + i), turn), zero));
    int64_t lanes[4];
    iv_store(lanes, sum);
    int32_t all = (int32_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
    for (; i < n; i++)
        all += x[i] ^ flip;
    return all;
}

/* Two taps at a time: their bytes side by side, so that one instruction forms both products and their sum. */
static void sixteen_channels(const struct ox_integer_taps *t, size_t c)
{
    const __m128i flip = _mm_set1_epi8((char)t->flip);
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t i = 0; i < t->n; i += 2) {
        const uint8_t *next = t->in[i + 1 < t->n ? i + 1 : i]; /* the weights of none are 0 */
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(t->in[i] + c));
        const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(next + c));
        const __m128i u = _mm_xor_si128(x, flip), v = _mm_xor_si128(y, flip);
        const int16_t *weights = t->weights + (i * t->channels + 2 * c);
        const __m256i a = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(u, v));
        const __m256i b = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(u, v));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(a, iv_load(weights)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(b, iv_load(weights + 16)));
    }
    iv_store(t->sums + c, low);
    iv_store(t->sums + c + 8, high);
}

static void taps(const struct ox_integer_taps *t)
{
    size_t c = 0;
    for (; c + 16 <= t->channels; c += 16)
        sixteen_channels(t, c);
    for (; c < t->channels; c++) {
        int32_t sum = 0;
        for (size_t i = 0; i < t->n; i++)
            sum += (int32_t)(t->in[i][c] ^ t->flip) * t->weights[ox_integer_tap(t->channels, i, c)];
        t->sums[c] = sum;
    }
}

struct ends {
    __m256 lo, hi;
    __m256i zero;
};

static inline __m256i eight_sums(const int32_t *sums, size_t j, int32_t row_term,
                                 const struct ox_integer_end *end)
{
    __m256i x = iv_load(sums + j);
    if (end->offset)
        x = _mm256_add_epi32(x, iv_load(end->offset + j));
    if (end->weight_zero)
        x = _mm256_sub_epi32(
            x, _mm256_mullo_epi32(_mm256_set1_epi32(row_term), iv_load(end->weight_zero + j)));
    return x;
}

/* The double's nearest integer where a product in float may have another: it fell on a half
 * that is none, or the sum has more bits than a float. */
static __attribute__((noinline)) __m256i eight_in_double(const struct ends *e, __m256i sums,
                                                         const float *scale)
{
    const __m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(e->lo));
    const __m256d hi = _mm256_cvtps_pd(_mm256_castps256_ps128(e->hi));
    __m128i out[2];
    for (unsigned half = 0; half < 2; half++) {
        const __m128i four =
            half ? _mm256_extracti128_si256(sums, 1) : _mm256_castsi256_si128(sums);
        const __m256d x = _mm256_mul_pd(_mm256_cvtepi32_pd(four),
                                        _mm256_cvtps_pd(_mm_loadu_ps(scale + half * 4)));
        out[half] = _mm256_cvtpd_epi32(_mm256_min_pd(hi, _mm256_max_pd(lo, x)));
    }
    return _mm256_set_m128i(out[1], out[0]);
}

/* *unsure gets a sign bit in each lane that must be asked in double. */
static inline __m256i eight_whole(const struct ends *e, __m256i sums, const float *scale,
                                  __m256 *unsure)
{
    const __m256 half = _mm256_set1_ps(0.5f), sign = _mm256_set1_ps(-0.0f);
    const __m256 s = _mm256_cvtepi32_ps(sums), x = _mm256_mul_ps(s, _mm256_loadu_ps(scale));
    const __m256 within = _mm256_min_ps(e->hi, _mm256_max_ps(e->lo, x));
    const __m256i whole = _mm256_cvtps_epi32(within);
    const __m256 off = _mm256_andnot_ps(sign, _mm256_sub_ps(within, _mm256_cvtepi32_ps(whole)));
    *unsure =
        _mm256_or_ps(_mm256_cmp_ps(off, half, _CMP_EQ_OQ),
                     _mm256_cmp_ps(_mm256_andnot_ps(sign, s), _mm256_set1_ps(0x1p24f), _CMP_GE_OQ));
    return whole;
}

static inline __m256i eight_bytes(const struct ends *e, __m256i sums, const float *scale)
{
    __m256 unsure;
    __m256i whole = eight_whole(e, sums, scale, &unsure);
    if (__builtin_expect(_mm256_movemask_ps(unsure), 0))
        whole = eight_in_double(e, sums, scale);
    return _mm256_and_si256(_mm256_add_epi32(whole, e->zero), _mm256_set1_epi32(0xff));
}

/* Columns j to j + 31. */
static inline __m256i thirty_two(const struct ends *e, const int32_t *sums, size_t j,
                                 int32_t row_term, const struct ox_integer_end *end)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i t[4], y[4];
    __m256 unsure[4];
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        t[k] = eight_sums(sums, j + k * 8, row_term, end);
        y[k] = eight_whole(e, t[k], end->scale + j + k * 8, &unsure[k]);
    }
    const __m256 any =
        _mm256_or_ps(_mm256_or_ps(unsure[0], unsure[1]), _mm256_or_ps(unsure[2], unsure[3]));
    if (__builtin_expect(_mm256_movemask_ps(any), 0))
        for (size_t k = 0; k < 4; k++)
            y[k] = eight_in_double(e, t[k], end->scale + j + k * 8);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++)
        y[k] = _mm256_add_epi32(y[k], e->zero);
    const __m256i words = _mm256_packs_epi32(y[0], y[1]), more = _mm256_packs_epi32(y[2], y[3]);
    const __m256i bytes = end->type == OX_INTEGER_U8 ? _mm256_packus_epi16(words, more)
                                                     : _mm256_packs_epi16(words, more);
    return _mm256_permutevar8x32_epi32(bytes, order);
}

static void to_bytes(size_t n, const int32_t *sums, int32_t row_term,
                     const struct ox_integer_end *end, uint8_t *out)
{
    const struct ends e = {_mm256_set1_ps((float)(end->lo - end->zero)),
                           _mm256_set1_ps((float)(end->hi - end->zero)),
                           _mm256_set1_epi32(end->zero)};
    size_t j = 0;
    for (; j + 32 <= n; j += 32)
        iv_store(out + j, thirty_two(&e, sums, j, row_term, end));
    for (; j < n; j += 8) {
        const __m256i y = eight_bytes(&e, eight_sums(sums, j, row_term, end), end->scale + j);
        const __m128i words =
            _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
        _mm_storel_epi64((__m128i *)(void *)(out + j), _mm_packus_epi16(words, words));
    }
}

static void to_floats(size_t n, const int32_t *sums, int32_t row_term,
                      const struct ox_integer_end *end, float *out)
{
    const __m256 lo = _mm256_set1_ps(end->lo_f), hi = _mm256_set1_ps(end->hi_f);
    for (size_t j = 0; j < n; j += 8) {
        __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(eight_sums(sums, j, row_term, end)),
                                 _mm256_loadu_ps(end->scale + j));
        if (end->bias)
            x = _mm256_add_ps(x, _mm256_loadu_ps(end->bias + j));
        _mm256_storeu_ps(out + j, _mm256_min_ps(hi, _mm256_max_ps(lo, x)));
    }
}

/* What is left after the whole vectors: brought to a whole one with copies of
 * what is there. */
static void last_lanes(size_t n, const int32_t *sums, int32_t row_term,
                       const struct ox_integer_end *end, void *out)
{
    int32_t s[8] = {0}, offset[8] = {0}, zero[8] = {0}, bytes[8];
    float scale[8] = {0}, bias[8] = {0};
    struct ox_integer_end e = *end;
    memcpy(s, sums, n * sizeof *s);
    if (end->offset) {
        memcpy(offset, end->offset, n * sizeof *offset);
        e.offset = offset;
    }
    if (end->weight_zero) {
        memcpy(zero, end->weight_zero, n * sizeof *zero);
        e.weight_zero = zero;
    }
    if (end->bias) {
        memcpy(bias, end->bias, n * sizeof *bias);
        e.bias = bias;
    }
    if (end->scale)
        memcpy(scale, end->scale, n * sizeof *scale);
    e.scale = scale;
    if (end->type == OX_INTEGER_I32) {
        iv_store(bytes, eight_sums(s, 0, row_term, &e));
        memcpy(out, bytes, n * sizeof *bytes);
    } else if (end->type == OX_INTEGER_F32) {
        to_floats(8, s, row_term, &e, bias);
        memcpy(out, bias, n * sizeof *bias);
    } else {
        to_bytes(8, s, row_term, &e, (uint8_t *)bytes);
        memcpy(out, bytes, n);
    }
}

static void finish(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out)
{
    const size_t whole = n / 8 * 8;
    size_t size = 4;
    if (end->type == OX_INTEGER_I32) {
        for (size_t j = 0; j < whole; j += 8)
            iv_store((int32_t *)out + j, eight_sums(sums, j, row_term, end));
    } else if (end->type == OX_INTEGER_F32) {
        to_floats(whole, sums, row_term, end, out);
    } else {
        to_bytes(whole, sums, row_term, end, out);
        size = 1;
    }
    if (whole == n)
        return;
    struct ox_integer_end e = *end;
    e.offset = end->offset ? end->offset + whole : NULL;
    e.weight_zero = end->weight_zero ? end->weight_zero + whole : NULL;
    e.scale = end->scale ? end->scale + whole : NULL;
    e.bias = end->bias ? end->bias + whole : NULL;
    last_lanes(n - whole, sums + whole, row_term, &e, (char *)out + whole * size);
}

void ox_integer_avx2(struct ox_integer *t)
{
    t->mr = IR;
    t->nr = INR;
    t->layout = OX_INTEGER_MIXED;
    t->tile = int_tile;
    t->words = int_words_tile;
    ox_integer_winograd_avx2(t);
    t->widen = widen;
    t->taps = taps;
    t->sum = sum_bytes;
    t->finish = finish;
}
