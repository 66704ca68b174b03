#include <immintrin.h>

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
    const __m256i quiet = _mm256_set1_epi32(0x400000);
    const __m256i was = _mm256_and_si256(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 13), quiet);
    const __m256i exact =
        _mm256_or_si256(_mm256_andnot_si256(quiet, _mm256_castps_si256(value)), was);
    const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    _mm256_storeu_ps(y, _mm256_blendv_ps(value, _mm256_castsi256_ps(exact), is_nan));
}

/* What does not fit, and NaN, becomes INT32_MIN. */
static inline void eight_f32_i32(const void *x, void *y)
{
    _mm256_storeu_si256(y, _mm256_cvttps_epi32(_mm256_loadu_ps(x)));
}

static inline void eight_f32_u8(const void *x, void *y)
{
    const __m256i low =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_cvttps_epi32(_mm256_loadu_ps(x)), low);
    _mm_storel_epi64(
        y, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}

/* By way of int32 where all of them fit: INT32_MIN tells that one may not. */
static inline void eight_f32_i64(const void *from, void *y)
{
    const float *x = from;
    const __m256i whole = _mm256_cvttps_epi32(_mm256_loadu_ps(x));
    const __m256i doubtful = _mm256_cmpeq_epi32(whole, _mm256_set1_epi32(INT32_MIN));
    int64_t *out = y;
    if (_mm256_testz_si256(doubtful, doubtful)) {
        _mm256_storeu_si256(y, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(whole)));
        _mm256_storeu_si256((void *)(out + 4),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(whole, 1)));
        return;
    }
    for (unsigned k = 0; k < 8; k++) {
        const int64_t one = _mm_cvttss_si64(_mm_load_ss(x + k));
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

static void row_i64_f32(size_t n, const void *x, void *y)
{
    by_eights(n, x, y, 8, 4, eight_i64_f32);
}

static const struct ox_cast own[] = {
    {OX_FLOAT32, OX_FLOAT16, row_f32_f16}, {OX_FLOAT16, OX_FLOAT32, row_f16_f32},
    {OX_FLOAT32, OX_INT32, row_f32_i32},   {OX_FLOAT32, OX_UINT8, row_f32_u8},
    {OX_FLOAT32, OX_INT8, row_f32_u8},     {OX_FLOAT32, OX_INT64, row_f32_i64},
    {OX_INT64, OX_FLOAT32, row_i64_f32}};

const struct ox_cast *ox_casts_avx2(enum ox_dtype from, enum ox_dtype to)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].from == from && own[i].to == to)
            return &own[i];
    return casts_find(from, to);
}
