#include <immintrin.h>

#include "kernels/turns.h"

#define WIDE __m512d
#define LANES 8
#define PD(f) _mm512_##f
#define PS(f) _mm256_##f
#include "kernels/x86/turns_halves_tmpl.h"

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
