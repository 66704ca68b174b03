#include <immintrin.h>

#include "kernels/turns.h"

static inline __m512d widened(__mmask8 lanes, const float *x)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, x));
}

static inline void store(float *y, __mmask8 lanes, __m512d v)
{
    _mm256_mask_storeu_ps(y, lanes, _mm512_cvtpd_ps(v));
}

/* Lanes of the first n, at most eight. */
static inline __mmask8 first(size_t n)
{
    return n < 8 ? (__mmask8)((1u << n) - 1) : 0xff;
}

/* Products are exact in double, so that a fused sum is theirs. */
static inline void turn_eight(__mmask8 lanes, const float *c, const float *s, const float *a,
                              const float *b, float *re, float *im)
{
    const __m512d cosine = widened(lanes, c), sine = widened(lanes, s);
    const __m512d x = widened(lanes, a), y = widened(lanes, b);
    store(re, lanes, _mm512_fmsub_pd(cosine, x, _mm512_mul_pd(sine, y)));
    store(im, lanes, _mm512_fmadd_pd(sine, x, _mm512_mul_pd(cosine, y)));
}

static void halves(size_t n, const float *restrict c, const float *restrict s,
                   const float *restrict a, const float *restrict b, float *restrict re,
                   float *restrict im)
{
    size_t k = 0;
    for (; k + 8 <= n; k += 8)
        turn_eight(0xff, c + k, s + k, a + k, b + k, re + k, im + k);
    if (k < n)
        turn_eight(first(n - k), c + k, s + k, a + k, b + k, re + k, im + k);
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
        const __m512d pairs = _mm512_cvtps_pd(_mm256_loadu_ps(x + 2 * k));
        const __m256d cosine = _mm256_cvtps_pd(_mm_loadu_ps(c + k));
        const __m256d sine = _mm256_cvtps_pd(_mm_loadu_ps(s + k));
        _mm256_storeu_ps(y + 2 * k, _mm512_cvtpd_ps(turn_four(cosine, sine, pairs)));
    }
    if (k < n) {
        const __mmask8 lanes = first(2 * (n - k)), singles = first(n - k);
        const __m256d cosine = _mm256_cvtps_pd(_mm_maskz_loadu_ps(singles, c + k));
        const __m256d sine = _mm256_cvtps_pd(_mm_maskz_loadu_ps(singles, s + k));
        store(y + 2 * k, lanes, turn_four(cosine, sine, widened(lanes, x + 2 * k)));
    }
}

const struct ox_turns ox_turns_avx512 = {halves, neighbours};
