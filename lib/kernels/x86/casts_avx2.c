#include <immintrin.h>
#include <string.h>

#include "kernels/casts.h"

#include "kernels/casts_tmpl.h"

/* The conversion of eight floats; the rest of a row passes through a block filled up with zeros. */
static inline __attribute__((always_inline)) void by_eights(size_t n, const void *from, void *to,
                                                            size_t x_bytes, size_t y_bytes,
                                                            void (*eight)(const void *x, void *y))
{
    const char *x = from;
    char *y = to;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        eight(x + i * x_bytes, y + i * y_bytes);
    if (i < n) {
        char rest[8 * sizeof(double)] = {0}, done[8 * sizeof(double)];
        memcpy(rest, x + i * x_bytes, (n - i) * x_bytes);
        eight(rest, done);
        memcpy(y + i * y_bytes, done, (n - i) * y_bytes);
    }
}

static inline __m128i load_half(const void *x)
{
    return _mm_loadu_si128(x);
}

static inline void eight_f32_f16(const void *x, void *y)
{
    _mm_storeu_si128(y, _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}

/* The instruction quiets a NaN; the bit that says so is taken from the half again. */
static inline void eight_f16_f32(const void *x, void *y)
{
    const __m128i half = load_half(x);
    const __m256 value = _mm256_cvtph_ps(half);
    const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    _mm256_storeu_ps(y, value);
    if (_mm256_movemask_ps(is_nan) == 0)
        return;
    const __m256i quiet = _mm256_set1_epi32(0x400000);
    const __m256i was = _mm256_and_si256(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 13), quiet);
    const __m256i exact =
        _mm256_or_si256(_mm256_andnot_si256(quiet, _mm256_castps_si256(value)), was);
    _mm256_storeu_ps(y, _mm256_blendv_ps(value, _mm256_castsi256_ps(exact), is_nan));
}

/* What does not fit, and NaN, becomes INT32_MIN. */
static inline void eight_f32_i32(const void *x, void *y)
{
    _mm256_storeu_si256(y, _mm256_cvttps_epi32(_mm256_loadu_ps(x)));
}

/* From 2^31 on what int32 makes of the rest, moved up. */
static inline void eight_f32_u32(const void *from, void *y)
{
    const __m256 x = _mm256_loadu_ps(from), half = _mm256_set1_ps(0x1p31F);
    const __m256 big = _mm256_cmp_ps(x, half, _CMP_GE_OQ);
    const __m256i whole = _mm256_cvttps_epi32(_mm256_sub_ps(x, _mm256_and_ps(big, half)));
    _mm256_storeu_si256(y,
                        _mm256_xor_si256(whole, _mm256_slli_epi32(_mm256_castps_si256(big), 31)));
}

static inline void low_bytes(__m256i whole, void *y)
{
    const __m256i low =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(whole, low);
    _mm_storel_epi64(
        y, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}

static inline void low_pairs(__m256i whole, void *y)
{
    const __m256i low = _mm256_and_si256(whole, _mm256_set1_epi32(0xffff));
    _mm_storeu_si128(
        y, _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

static inline void eight_f32_16(const void *x, void *y)
{
    low_pairs(_mm256_cvttps_epi32(_mm256_loadu_ps(x)), y);
}

static inline void eight_f32_u8(const void *x, void *y)
{
    low_bytes(_mm256_cvttps_epi32(_mm256_loadu_ps(x)), y);
}

static inline __m256i whole_doubles(const double *x)
{
    return _mm256_set_m128i(_mm256_cvttpd_epi32(_mm256_loadu_pd(x + 4)),
                            _mm256_cvttpd_epi32(_mm256_loadu_pd(x)));
}

static inline void eight_f64_i32(const void *x, void *y)
{
    _mm256_storeu_si256(y, whole_doubles(x));
}

static inline void eight_f64_16(const void *x, void *y)
{
    low_pairs(whole_doubles(x), y);
}

static inline __m128i four_f64_u32(const double *from)
{
    const __m256d x = _mm256_loadu_pd(from), half = _mm256_set1_pd(0x1p31);
    const __m256d big = _mm256_cmp_pd(x, half, _CMP_GE_OQ);
    const __m128i whole = _mm256_cvttpd_epi32(_mm256_sub_pd(x, _mm256_and_pd(big, half)));
    const __m128i is_big = _mm256_cvttpd_epi32(_mm256_and_pd(big, _mm256_set1_pd(1)));
    return _mm_xor_si128(whole, _mm_slli_epi32(is_big, 31));
}

static inline void eight_f64_u32(const void *from, void *y)
{
    const double *x = from;
    _mm256_storeu_si256(y, _mm256_set_m128i(four_f64_u32(x + 4), four_f64_u32(x)));
}

static inline void eight_f64_u8(const void *x, void *y)
{
    low_bytes(whole_doubles(x), y);
}

/* Doubles to floats that round to what they would: what is lost is told by the last bit, which a further rounding to fewer bits
 * sees (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). */
static inline __m128 round_to_odd(const double *from)
{
    const __m256d x = _mm256_loadu_pd(from), sign = _mm256_set1_pd(-0.0);
    const __m128 near = _mm256_cvtpd_ps(x);
    const __m256d back = _mm256_cvtps_pd(near);
    const __m256d over =
        _mm256_cmp_pd(_mm256_andnot_pd(sign, back), _mm256_andnot_pd(sign, x), _CMP_GT_OQ);
    const __m256d lost = _mm256_cmp_pd(back, x, _CMP_NEQ_OQ);
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0);
    const __m128i minus =
        _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(over), order));
    const __m128i odd =
        _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(lost), order));
    const __m128i toward_0 = _mm_add_epi32(_mm_castps_si128(near), minus);
    return _mm_castsi128_ps(_mm_or_si128(toward_0, _mm_and_si128(odd, _mm_set1_epi32(1))));
}

static inline void eight_f64_f16(const void *x, void *y)
{
    float rounded[8];
    _mm_storeu_ps(rounded, round_to_odd(x));
    _mm_storeu_ps(rounded + 4, round_to_odd((const double *)x + 4));
    eight_f32_f16(rounded, y);
}

/* By way of int32 where all of them fit: INT32_MIN tells that one may not. */
static inline bool as_int64(__m256i whole, int64_t *y)
{
    const __m256i doubtful = _mm256_cmpeq_epi32(whole, _mm256_set1_epi32(INT32_MIN));
    if (!_mm256_testz_si256(doubtful, doubtful))
        return false;
    _mm256_storeu_si256((void *)y, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(whole)));
    _mm256_storeu_si256((void *)(y + 4), _mm256_cvtepi32_epi64(_mm256_extracti128_si256(whole, 1)));
    return true;
}

static inline void eight_f32_i64(const void *from, void *y)
{
    const float *x = from;
    int64_t *out = y;
    if (as_int64(_mm256_cvttps_epi32(_mm256_loadu_ps(x)), out))
        return;
    for (unsigned k = 0; k < 8; k++) {
        const int64_t one = _mm_cvttss_si64(_mm_load_ss(x + k));
        memcpy(out + k, &one, sizeof one);
    }
}

static inline void eight_f32_u64(const void *from, void *y)
{
    const float *x = from;
    uint64_t out[8];
    if (as_int64(_mm256_cvttps_epi32(_mm256_loadu_ps(x)), y))
        return;
    for (unsigned k = 0; k < 8; k++) {
        const bool big = x[k] >= 0x1p63F;
        const int64_t one = _mm_cvttss_si64(_mm_set_ss(big ? x[k] - 0x1p63F : x[k]));
        out[k] = (uint64_t)one ^ (uint64_t)big << 63;
    }
    memcpy(y, out, sizeof out);
}

static inline void eight_f64_i64(const void *from, void *y)
{
    const double *x = from;
    int64_t *out = y;
    if (as_int64(whole_doubles(x), out))
        return;
    for (unsigned k = 0; k < 8; k++) {
        const int64_t one = _mm_cvttsd_si64(_mm_load_sd(x + k));
        memcpy(out + k, &one, sizeof one);
    }
}

static inline __m128i low_of_four(const int64_t *x, __m256i *lost)
{
    const __m256i four = _mm256_loadu_si256((const void *)x);
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0);
    const __m128i low = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(four, order));
    *lost = _mm256_or_si256(*lost, _mm256_xor_si256(four, _mm256_cvtepi32_epi64(low)));
    return low;
}

/* Likewise by way of int32. */
static inline void eight_i64_f32(const void *from, void *y)
{
    const int64_t *x = from;
    __m256i lost = _mm256_setzero_si256();
    const __m128i a = low_of_four(x, &lost), b = low_of_four(x + 4, &lost);
    float out[8];
    if (_mm256_testz_si256(lost, lost)) {
        _mm256_storeu_ps(y, _mm256_cvtepi32_ps(_mm256_set_m128i(b, a)));
        return;
    }
    for (unsigned k = 0; k < 8; k++)
        out[k] = (float)x[k];
    memcpy(y, out, sizeof out);
}

/* The high 48 bits and the low 16 as doubles that hold them at fixed places, whose sum is rounded once. */
static inline __m256d four_doubles(const int64_t *x)
{
    const __m256i four = _mm256_loadu_si256((const void *)x);
    const __m256i high =
        _mm256_blend_epi16(_mm256_srai_epi32(four, 16), _mm256_setzero_si256(), 0x33);
    const __m256i above = _mm256_castpd_si256(_mm256_set1_pd(0x1.8p68));
    const __m256i low = _mm256_blend_epi16(four, _mm256_castpd_si256(_mm256_set1_pd(0x1p52)), 0x88);
    const __m256d upper = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(high, above)),
                                        _mm256_set1_pd(0x1.8p68 + 0x1p52));
    return _mm256_add_pd(upper, _mm256_castsi256_pd(low));
}

static inline void eight_i64_f64(const void *from, void *to)
{
    const int64_t *x = from;
    double *y = to;
    _mm256_storeu_pd(y, four_doubles(x));
    _mm256_storeu_pd(y + 4, four_doubles(x + 4));
}

static void row_f32_f16(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 2, eight_f32_f16);
}

static void row_f16_f32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 2, 4, eight_f16_f32);
}

static void row_f32_i32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 4, eight_f32_i32);
}

static void row_f32_u8(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 1, eight_f32_u8);
}

static void row_f32_i64(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 8, eight_f32_i64);
}

static void row_f32_u32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 4, eight_f32_u32);
}

static void row_f32_u64(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 8, eight_f32_u64);
}

static void row_i64_f32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 4, eight_i64_f32);
}

static void row_i64_f64(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 8, eight_i64_f64);
}

static void row_f64_f16(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 2, eight_f64_f16);
}

static void row_f64_i32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 4, eight_f64_i32);
}

static void row_f64_u8(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 1, eight_f64_u8);
}

static void row_f64_i64(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 8, eight_f64_i64);
}

static void row_f32_16(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 4, 2, eight_f32_16);
}

static void row_f64_16(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 2, eight_f64_16);
}

static void row_f64_u32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 4, eight_f64_u32);
}

static const struct pair own[] = {
    {OX_FLOAT32, OX_FLOAT16, {row_f32_f16}}, {OX_FLOAT16, OX_FLOAT32, {row_f16_f32}},
    {OX_FLOAT32, OX_INT32, {row_f32_i32}},   {OX_FLOAT32, OX_UINT8, {row_f32_u8}},
    {OX_FLOAT32, OX_INT8, {row_f32_u8}},     {OX_FLOAT32, OX_INT64, {row_f32_i64}},
    {OX_INT64, OX_FLOAT32, {row_i64_f32}},   {OX_FLOAT64, OX_FLOAT16, {row_f64_f16}},
    {OX_INT64, OX_FLOAT64, {row_i64_f64}},   {OX_FLOAT64, OX_INT32, {row_f64_i32}},
    {OX_FLOAT64, OX_UINT8, {row_f64_u8}},    {OX_FLOAT64, OX_INT8, {row_f64_u8}},
    {OX_FLOAT64, OX_INT64, {row_f64_i64}},   {OX_FLOAT32, OX_UINT32, {row_f32_u32}},
    {OX_FLOAT32, OX_UINT64, {row_f32_u64}},  {OX_FLOAT32, OX_INT16, {row_f32_16}},
    {OX_FLOAT32, OX_UINT16, {row_f32_16}},   {OX_FLOAT64, OX_INT16, {row_f64_16}},
    {OX_FLOAT64, OX_UINT16, {row_f64_16}},   {OX_FLOAT64, OX_UINT32, {row_f64_u32}},
};

const struct ox_cast *ox_casts_avx2(enum ox_dtype from, enum ox_dtype to)
{
    const struct ox_cast *mine = find_pair(own, sizeof own / sizeof *own, from, to);
    return mine ? mine : casts_find(from, to);
}
