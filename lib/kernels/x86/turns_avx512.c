#include <immintrin.h>

#include "kernels/turns.h"

#define neighbours plain_neighbours
#define halves plain_halves
#include "kernels/turns_tmpl.h"
#undef neighbours
#undef halves

static inline __m512d widened(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

/* Products are exact in double, so that a fused sum is theirs. */
static void halves(size_t n, const float *restrict c, const float *restrict s,
                   const float *restrict a, const float *restrict b, float *restrict re,
                   float *restrict im)
{
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        const __m512d cosine = widened(c + k), sine = widened(s + k);
        const __m512d x = widened(a + k), y = widened(b + k);
        const __m512d first = _mm512_fmsub_pd(cosine, x, _mm512_mul_pd(sine, y));
        const __m512d second = _mm512_fmadd_pd(sine, x, _mm512_mul_pd(cosine, y));
        _mm256_storeu_ps(re + k, _mm512_cvtpd_ps(first));
        _mm256_storeu_ps(im + k, _mm512_cvtpd_ps(second));
    }
    plain_halves(n - k, c + k, s + k, a + k, b + k, re + k, im + k);
}

/* Four pairs. */
static inline __m512d turn_four(__m256d c, __m256d s, __m512d pairs)
{
    const __m512i twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    const __m512d cosine = _mm512_permutexvar_pd(twice, _mm512_castpd256_pd512(c));
    const __m512d sine = _mm512_permutexvar_pd(twice, _mm512_castpd256_pd512(s));
    return _mm512_fmaddsub_pd(cosine, pairs, _mm512_mul_pd(sine, _mm512_permute_pd(pairs, 0x55)));
}

static void neighbours(size_t n, const float *restrict c, const float *restrict s,
                       const float *restrict x, float *restrict y)
{
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const __m256d cosine = _mm256_cvtps_pd(_mm_loadu_ps(c + k));
        const __m256d sine = _mm256_cvtps_pd(_mm_loadu_ps(s + k));
        const __m512d turned = turn_four(cosine, sine, widened(x + 2 * k));
        _mm256_storeu_ps(y + 2 * k, _mm512_cvtpd_ps(turned));
    }
    plain_neighbours(n - k, c + k, s + k, x + 2 * k, y + 2 * k);
}

const struct ox_turns ox_turns_avx512 = {halves, neighbours};
