#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/stamp.h"
#include "kernels/folds.h"

/* From OX_FOLD_PARTS - n on: the mask of the first n parts. */
static const int32_t some_of_parts[2 * OX_FOLD_PARTS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* Of lanes: vectors that are taken in side by side, and rows before the next ones are, whose lines are then fetched in time. */
enum { STRIP = 8, TOGETHER = 16 };

static inline __m256d load_widened(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline __m256d load_some_widened(const float *x, const int32_t *mask)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(x, _mm_loadu_si128((const __m128i *)mask)));
}

static inline __m256i mask_of_four(const int32_t *mask)
{
    return _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)mask));
}

static inline __m256d load_some_doubles(const double *x, const int32_t *mask)
{
    return _mm256_maskload_pd(x, mask_of_four(mask));
}

static inline __m256d add_square(__m256d a, __m256d x)
{
    return _mm256_add_pd(a, _mm256_mul_pd(x, x));
}

/* Squared in their type. */
static inline __m256d load_squares_ps(const float *x)
{
    const __m128 v = _mm_loadu_ps(x);
    return _mm256_cvtps_pd(_mm_mul_ps(v, v));
}

static inline __m256d load_some_squares_ps(const float *x, const int32_t *mask)
{
    const __m128 v = _mm_maskload_ps(x, _mm_loadu_si128((const __m128i *)mask));
    return _mm256_cvtps_pd(_mm_mul_ps(v, v));
}

static inline __m256d load_squares_pd(const double *x)
{
    const __m256d v = _mm256_loadu_pd(x);
    return _mm256_mul_pd(v, v);
}

static inline __m256d load_some_squares_pd(const double *x, const int32_t *mask)
{
    const __m256d v = load_some_doubles(x, mask);
    return _mm256_mul_pd(v, v);
}

/* The lanes of `x` that the mask leaves out become 1. */
static inline __m256d or_one(__m256d x, const int32_t *mask)
{
    return _mm256_blendv_pd(_mm256_set1_pd(1), x, _mm256_castsi256_pd(mask_of_four(mask)));
}

static inline double product_of_four(__m256d a)
{
    const __m128d two = _mm_mul_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_mul_sd(two, _mm_unpackhi_pd(two, two)));
}

static inline double sum_of_four(__m256d a)
{
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* The same halves of four, joined by OP; their lanes: a c b d. */
#define HALVES_PD(op, a, i, j)                                                                     \
    op(_mm256_permute2f128_pd((a)[i], (a)[j], 0x20), _mm256_permute2f128_pd((a)[i], (a)[j], 0x31))
#define FOUR_PD(op, a, to)                                                                         \
    do {                                                                                           \
        const __m256d ab = HALVES_PD(op, a, 0, 1), cd = HALVES_PD(op, a, 2, 3);                    \
        const __m256d acbd = op(_mm256_unpacklo_pd(ab, cd), _mm256_unpackhi_pd(ab, cd));           \
        _mm256_storeu_pd(to, _mm256_permute4x64_pd(acbd, 0xd8));                                   \
    } while (0)

static inline void sums_of_four(const __m256d *a, double *to)
{
    FOUR_PD(_mm256_add_pd, a, to);
}

static inline void products_of_four(const __m256d *a, double *to)
{
    FOUR_PD(_mm256_mul_pd, a, to);
}

/* The lanes of `a` that the mask leaves out are those of `other`. */
static inline __m256 load_some_ps(const float *x, const int32_t *mask, __m256 other)
{
    const __m256i m = _mm256_loadu_si256((const __m256i *)mask);
    return _mm256_blendv_ps(other, _mm256_maskload_ps(x, m), _mm256_castsi256_ps(m));
}

static inline __m256d load_some_pd(const double *x, const int32_t *mask, __m256d other)
{
    const __m256i m = mask_of_four(mask);
    return _mm256_blendv_pd(other, _mm256_maskload_pd(x, m), _mm256_castsi256_pd(m));
}

/* Of two equal ones the accumulator is kept, and NaN stays: as OX_FOLD_GREATER and OX_FOLD_LESS. */
static inline __m256 greater_ps(__m256 a, __m256 x)
{
    return _mm256_blendv_ps(_mm256_max_ps(x, a), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline __m256 less_ps(__m256 a, __m256 x)
{
    return _mm256_blendv_ps(_mm256_min_ps(x, a), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline __m256d greater_pd(__m256d a, __m256d x)
{
    return _mm256_blendv_pd(_mm256_max_pd(x, a), x, _mm256_cmp_pd(x, x, _CMP_UNORD_Q));
}

static inline __m256d less_pd(__m256d a, __m256d x)
{
    return _mm256_blendv_pd(_mm256_min_pd(x, a), x, _mm256_cmp_pd(x, x, _CMP_UNORD_Q));
}

static inline float greatest_of_eight(__m256 a)
{
    a = greater_ps(a, _mm256_permute2f128_ps(a, a, 1));
    a = greater_ps(a, _mm256_permute_ps(a, 0x4e));
    return _mm256_cvtss_f32(greater_ps(a, _mm256_permute_ps(a, 0xb1)));
}

static inline float least_of_eight(__m256 a)
{
    a = less_ps(a, _mm256_permute2f128_ps(a, a, 1));
    a = less_ps(a, _mm256_permute_ps(a, 0x4e));
    return _mm256_cvtss_f32(less_ps(a, _mm256_permute_ps(a, 0xb1)));
}

static inline double greatest_of_four(__m256d a)
{
    a = greater_pd(a, _mm256_permute2f128_pd(a, a, 1));
    return _mm256_cvtsd_f64(greater_pd(a, _mm256_permute_pd(a, 5)));
}

static inline double least_of_four(__m256d a)
{
    a = less_pd(a, _mm256_permute2f128_pd(a, a, 1));
    return _mm256_cvtsd_f64(less_pd(a, _mm256_permute_pd(a, 5)));
}

static inline void greatest_of_four_pd(const __m256d *a, double *to)
{
    FOUR_PD(greater_pd, a, to);
}

static inline void least_of_four_pd(const __m256d *a, double *to)
{
    FOUR_PD(less_pd, a, to);
}

#define HALVES_PS(op, a, i, j)                                                                     \
    op(_mm256_permute2f128_ps((a)[i], (a)[j], 0x20), _mm256_permute2f128_ps((a)[i], (a)[j], 0x31))
#define FOUR_PS(op, a, to)                                                                         \
    do {                                                                                           \
        const __m256 ab = HALVES_PS(op, a, 0, 1), cd = HALVES_PS(op, a, 2, 3);                     \
        const __m256 two = op(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));   \
        const __m256 acbd = op(_mm256_permute_ps(two, 0x88), _mm256_permute_ps(two, 0xdd));        \
        _mm_storeu_ps(                                                                             \
            to, _mm_unpacklo_ps(_mm256_castps256_ps128(acbd), _mm256_extractf128_ps(acbd, 1)));    \
    } while (0)

static inline void greatest_of_four_ps(const __m256 *a, float *to)
{
    FOUR_PS(greater_ps, a, to);
}

static inline void least_of_four_ps(const __m256 *a, float *to)
{
    FOUR_PS(less_ps, a, to);
}

#define T float
#define N(x) OX_STAMP(x, _f32)
#define VT __m256
#define LOAD_DOUBLES load_widened
#define LOAD_SOME_DOUBLES load_some_widened
#define LOAD_SQUARES load_squares_ps
#define LOAD_SOME_SQUARES load_some_squares_ps
#define LOAD_ELEMENTS _mm256_loadu_ps
#define LOAD_SOME_ELEMENTS load_some_ps
#define ALL _mm256_set1_ps
#define GREATER_OF greater_ps
#define LESS_OF less_ps
#define GREATEST_OF greatest_of_eight
#define LEAST_OF least_of_eight
#define GREATEST_OF_FOUR greatest_of_four_ps
#define LEAST_OF_FOUR least_of_four_ps
#include "kernels/x86/fold_runs_avx2_tmpl.h"

#define T double
#define N(x) OX_STAMP(x, _f64)
#define VT __m256d
#define LOAD_DOUBLES _mm256_loadu_pd
#define LOAD_SOME_DOUBLES load_some_doubles
#define LOAD_SQUARES load_squares_pd
#define LOAD_SOME_SQUARES load_some_squares_pd
#define LOAD_ELEMENTS _mm256_loadu_pd
#define LOAD_SOME_ELEMENTS load_some_pd
#define ALL _mm256_set1_pd
#define GREATER_OF greater_pd
#define LESS_OF less_pd
#define GREATEST_OF greatest_of_four
#define LEAST_OF least_of_four
#define GREATEST_OF_FOUR greatest_of_four_pd
#define LEAST_OF_FOUR least_of_four_pd
#include "kernels/x86/fold_runs_avx2_tmpl.h"

/* Equal, or both no number. */
static inline int same_ps(__m256 x, __m256 v)
{
    const __m256 odd =
        _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(x, v, _CMP_EQ_OQ), odd));
}

static inline int same_pd(__m256d x, __m256d v)
{
    const __m256d odd =
        _mm256_and_pd(_mm256_cmp_pd(x, x, _CMP_UNORD_Q), _mm256_cmp_pd(v, v, _CMP_UNORD_Q));
    return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(x, v, _CMP_EQ_OQ), odd));
}

static inline int same_epi32(__m256i x, __m256i v)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, v)));
}

static inline int same_epi64(__m256i x, __m256i v)
{
    return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, v)));
}

#define T float
#define N(x) OX_STAMP(x, _f32)
#define VT __m256
#define ALL _mm256_set1_ps
#define LOAD _mm256_loadu_ps
#define LOAD_SOME(x, m) _mm256_maskload_ps(x, _mm256_loadu_si256((const __m256i *)(m)))
#define SAME same_ps
#include "kernels/x86/fold_hits_avx2_tmpl.h"

#define T double
#define N(x) OX_STAMP(x, _f64)
#define VT __m256d
#define ALL _mm256_set1_pd
#define LOAD _mm256_loadu_pd
#define LOAD_SOME load_some_doubles
#define SAME same_pd
#include "kernels/x86/fold_hits_avx2_tmpl.h"

#define T int32_t
#define N(x) OX_STAMP(x, _i32)
#define VT __m256i
#define ALL _mm256_set1_epi32
#define LOAD(x) _mm256_loadu_si256((const __m256i *)(x))
#define LOAD_SOME(x, m) _mm256_maskload_epi32(x, _mm256_loadu_si256((const __m256i *)(m)))
#define SAME same_epi32
#include "kernels/x86/fold_hits_avx2_tmpl.h"

#define T int64_t
#define N(x) OX_STAMP(x, _i64)
#define VT __m256i
#define ALL _mm256_set1_epi64x
#define LOAD(x) _mm256_loadu_si256((const __m256i *)(x))
#define LOAD_SOME(x, m) _mm256_maskload_epi64((const long long *)(x), mask_of_four(m))
#define SAME same_epi64
#include "kernels/x86/fold_hits_avx2_tmpl.h"

static inline uint64_t hits_u32(const uint32_t *x, size_t n, uint32_t value)
{
    return hits_i32((const int32_t *)x, n, (int32_t)value);
}

static inline uint64_t hits_u64(const uint64_t *x, size_t n, uint64_t value)
{
    return hits_i64((const int64_t *)x, n, (int64_t)value);
}

#define FOLD_RUNS_MADE
#define RUNNING_SUMS running_sums_in_fours
static void running_sums_in_fours(double *acc, const float *x, size_t n, size_t rows,
                                  ptrdiff_t stride, bool exclusive, float *y);
#include "kernels/folds_tmpl.h"

/* Four sums stay in a register for so many rows. */
static void running_sums_in_fours(double *acc, const float *x, size_t n, size_t rows,
                                  ptrdiff_t stride, bool exclusive, float *y)
{
    enum { ROWS = 8 };
    const size_t whole = n / 4 * 4;
    for (; rows >= ROWS; rows -= ROWS, x += ROWS * stride, y += ROWS * stride) {
        for (size_t i = 0; i < whole; i += 4) {
            __m256d sum = _mm256_loadu_pd(acc + i);
#pragma GCC unroll 8
            for (ptrdiff_t row = 0, at = (ptrdiff_t)i; row < ROWS; row++, at += stride) {
                const __m256d before = sum;
                sum = _mm256_add_pd(sum, load_widened(x + at));
                _mm_storeu_ps(y + at, _mm256_cvtpd_ps(exclusive ? before : sum));
            }
            _mm256_storeu_pd(acc + i, sum);
        }
        running_sums(acc + whole, x + whole, n - whole, ROWS, stride, exclusive, y + whole);
    }
    running_sums(acc, x, n, rows, stride, exclusive, y);
}

const struct ox_folds ox_folds_avx2 = OX_FOLD_TABLE;
