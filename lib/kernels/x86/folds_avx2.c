#include <immintrin.h>
#include <math.h>
#include <stdint.h>

#include "kernels/folds.h"

#define T float
#define FOLD_RUN_MADE

/* From OX_FOLD_PARTS - n on: the mask of the first n parts. */
static const int32_t some_of_parts[2 * OX_FOLD_PARTS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

static inline __m256d load_doubles(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline __m256d load_some_doubles(const float *x, const int32_t *mask)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(x, _mm_loadu_si128((const __m128i *)mask)));
}

static inline __m256d add_square(__m256d a, __m256d x)
{
    return _mm256_add_pd(a, _mm256_mul_pd(x, x));
}

static inline double sum_of_four(__m256d a)
{
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* The lanes of `a` that the mask leaves out are those of `other`. */
static inline __m256 load_some_floats(const float *x, const int32_t *mask, __m256 other)
{
    const __m256i m = _mm256_loadu_si256((const __m256i *)mask);
    return _mm256_blendv_ps(other, _mm256_maskload_ps(x, m), _mm256_castsi256_ps(m));
}

/* Of two equal ones the accumulator is kept, and NaN stays: as OX_FOLD_GREATER and OX_FOLD_LESS. */
static inline __m256 greater_of(__m256 a, __m256 x)
{
    return _mm256_blendv_ps(_mm256_max_ps(x, a), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline __m256 less_of(__m256 a, __m256 x)
{
    return _mm256_blendv_ps(_mm256_min_ps(x, a), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline float greatest_of_eight(__m256 a)
{
    a = greater_of(a, _mm256_permute2f128_ps(a, a, 1));
    a = greater_of(a, _mm256_permute_ps(a, 0x4e));
    return _mm256_cvtss_f32(greater_of(a, _mm256_permute_ps(a, 0xb1)));
}

static inline float least_of_eight(__m256 a)
{
    a = less_of(a, _mm256_permute2f128_ps(a, a, 1));
    a = less_of(a, _mm256_permute_ps(a, 0x4e));
    return _mm256_cvtss_f32(less_of(a, _mm256_permute_ps(a, 0xb1)));
}

#define ACC double
#define VA __m256d
#define START() 0
#define JOIN(a, b) (a) + (b)
#define LOAD(x) load_doubles(x)
#define LOAD_SOME(x, m) load_some_doubles(x, m)
#define VSTART() _mm256_setzero_pd()
#define VJOIN(a, b) _mm256_add_pd(a, b)
#define FINISH(a) sum_of_four(a)

#define FOLD_RUN sum_run
#define FOLD_LANES sum_lanes
#define FOLD_ROWS sum_rows
#define FOLD_SHORT sum_short
#define STEP(a, x, s) (a) + (double)(x)
#define VSTEP(a, x) _mm256_add_pd(a, x)
#include "kernels/x86/fold_avx2_tmpl.h"

#include "kernels/fold_tmpl.h"
#undef STEP
#undef VSTEP

#define FOLD_RUN sum_of_abs_run
#define FOLD_LANES sum_of_abs_lanes
#define FOLD_ROWS sum_of_abs_rows
#define FOLD_SHORT sum_of_abs_short
#define STEP(a, x, s) (a) + fabs((double)(x))
#define VSTEP(a, x) _mm256_add_pd(a, _mm256_andnot_pd(_mm256_set1_pd(-0.0), x))
#include "kernels/x86/fold_avx2_tmpl.h"

#include "kernels/fold_tmpl.h"
#undef STEP
#undef VSTEP

#define FOLD_RUN sum_of_squares_run
#define FOLD_LANES sum_of_squares_lanes
#define FOLD_ROWS sum_of_squares_rows
#define FOLD_SHORT sum_of_squares_short
#define STEP(a, x, s) (a) + (double)(x) * (double)(x)
#define VSTEP(a, x) add_square(a, x)
#include "kernels/x86/fold_avx2_tmpl.h"

#include "kernels/fold_tmpl.h"
#undef STEP
#undef VSTEP

#undef ACC
#undef VA
#undef START
#undef JOIN
#undef LOAD
#undef VSTART
#undef VJOIN
#undef FINISH
#undef LOAD_SOME
#define ACC float
#define VA __m256
#define LOAD(x) _mm256_loadu_ps(x)
#define LOAD_SOME(x, m) load_some_floats(x, m, VSTART())

#define START() -INFINITY
#define JOIN(a, b) OX_FOLD_GREATER(a, b)
#define VSTART() _mm256_set1_ps(-INFINITY)
#define VJOIN(a, b) greater_of(a, b)
#define VSTEP(a, x) greater_of(a, x)
#define FINISH(a) greatest_of_eight(a)
#define FOLD_RUN greatest_run
#define FOLD_LANES greatest_lanes
#define FOLD_ROWS greatest_rows
#define FOLD_SHORT greatest_short
#define STEP(a, x, s) OX_FOLD_GREATER(a, x)
#include "kernels/x86/fold_avx2_tmpl.h"

#include "kernels/fold_tmpl.h"
#undef STEP
#undef START
#undef JOIN
#undef VSTART
#undef VJOIN
#undef VSTEP
#undef FINISH

#define START() INFINITY
#define JOIN(a, b) OX_FOLD_LESS(a, b)
#define VSTART() _mm256_set1_ps(INFINITY)
#define VJOIN(a, b) less_of(a, b)
#define VSTEP(a, x) less_of(a, x)
#define FINISH(a) least_of_eight(a)
#define FOLD_RUN least_run
#define FOLD_LANES least_lanes
#define FOLD_ROWS least_rows
#define FOLD_SHORT least_short
#define STEP(a, x, s) OX_FOLD_LESS(a, x)
#include "kernels/x86/fold_avx2_tmpl.h"

#include "kernels/fold_tmpl.h"
#undef STEP

const struct ox_folds ox_folds_avx2 = {
    .sum = {sum_run, sum_lanes, sum_rows},
    .sum_of_abs = {sum_of_abs_run, sum_of_abs_lanes, sum_of_abs_rows},
    .sum_of_squares = {sum_of_squares_run, sum_of_squares_lanes, sum_of_squares_rows},
    .greatest = {greatest_run, greatest_lanes, greatest_rows},
    .least = {least_run, least_lanes, least_rows}};
