#include <immintrin.h>

#include "kernels/turns.h"

#define WIDE __m256d
#define LANES 4
#define PD(f) _mm256_##f
#define PS(f) _mm_##f
#include "kernels/x86/turns_halves_tmpl.h"

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
