#include <immintrin.h>

#include "kernels/turns.h"

#define neighbours plain_neighbours
#define halves plain_halves
#include "kernels/turns_tmpl.h"
#undef neighbours
#undef halves

static inline __m256d widened(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

/* Products are exact in double, so that a fused sum is theirs. */
static void halves(size_t n, const float *restrict c, const float *restrict s,
                   const float *restrict a, const float *restrict b, float *restrict re,
                   float *restrict im)
{
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const __m256d cosine = widened(c + k), sine = widened(s + k);
        const __m256d x = widened(a + k), y = widened(b + k);
        const __m256d first = _mm256_fmsub_pd(cosine, x, _mm256_mul_pd(sine, y));
        const __m256d second = _mm256_fmadd_pd(sine, x, _mm256_mul_pd(cosine, y));
        _mm_storeu_ps(re + k, _mm256_cvtpd_ps(first));
        _mm_storeu_ps(im + k, _mm256_cvtpd_ps(second));
    }
    plain_halves(n - k, c + k, s + k, a + k, b + k, re + k, im + k);
}

/* Two floats, each twice, as doubles. */
static inline __m256d twice(const float *x)
{
    const __m128 two = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i_u *)(const void *)x));
    return _mm256_cvtps_pd(_mm_unpacklo_ps(two, two));
}

/* Two pairs. */
static inline void turn_two(const float *c, const float *s, const float *x, float *y)
{
    const __m256d pairs = widened(x), swapped = _mm256_permute_pd(pairs, 5);
    const __m256d turned = _mm256_fmaddsub_pd(twice(c), pairs, _mm256_mul_pd(twice(s), swapped));
    _mm_storeu_ps(y, _mm256_cvtpd_ps(turned));
}

static void neighbours(size_t n, const float *restrict c, const float *restrict s,
                       const float *restrict x, float *restrict y)
{
    size_t k = 0;
    for (; k + 2 <= n; k += 2)
        turn_two(c + k, s + k, x + 2 * k, y + 2 * k);
    plain_neighbours(n - k, c + k, s + k, x + 2 * k, y + 2 * k);
}

const struct ox_turns ox_turns_avx2 = {halves, neighbours};
